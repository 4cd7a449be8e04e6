// Small helpers for the page's document.

type Child = Node | string;

/** Returns an element with attributes and children; `on...` attributes are listeners. */
export function element<K extends keyof HTMLElementTagNameMap>(
  name: K,
  attributes: Record<string, string | boolean | ((event: Event) => void)> = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (typeof value === "function") made.addEventListener(key.slice(2), value);
    else if (typeof value === "boolean") made.toggleAttribute(key, value);
    else made.setAttribute(key, value);
  }
  made.append(...children);
  return made;
}

/** Returns the element with this id. */
export function byId<T extends HTMLElement = HTMLElement>(id: string): T {
  const found = document.getElementById(id);
  if (!found) throw new Error(`there is no #${id}`);
  return found as T;
}

/** Announces a text to users of screen readers. */
export function announce(text: string): void {
  const line = byId("announcement");
  line.textContent = "";
  // Screen readers read a change only if the line was empty before.
  setTimeout(() => (line.textContent = text), 50);
}

/** Shows an error; an empty text removes it. */
export function showError(place: HTMLElement, error: unknown): void {
  const text = error instanceof Error ? error.message : String(error ?? "");
  place.textContent = text;
  place.hidden = text === "";
}

/** Formats a number with about three digits. */
export function formatShort(value: number): string {
  if (!Number.isFinite(value)) return "–";
  const size = Math.abs(value);
  return value.toFixed(size >= 100 ? 0 : size >= 10 ? 1 : size === 0 ? 0 : 2);
}

/** Saves text as a file. */
export function saveFile(name: string, type: string, text: string): void {
  const address = URL.createObjectURL(new Blob([text], { type }));
  const link = element("a", { href: address, download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}

/** Parses a drawing or a table from the simulator, which has escaped its texts. */
export function parseMarkup(markup: string): DocumentFragment {
  const template = document.createElement("template");
  template.innerHTML = markup;
  return template.content;
}

/** Calls `onFile` with each file that is chosen or dropped on a place. */
export function acceptFiles(place: HTMLElement, onFile: (name: string, text: string) => void): void {
  place.addEventListener("dragover", (event) => {
    event.preventDefault();
    place.classList.add("over");
  });
  place.addEventListener("dragleave", () => place.classList.remove("over"));
  place.addEventListener("drop", (event) => {
    event.preventDefault();
    place.classList.remove("over");
    void readFiles(event.dataTransfer?.files, onFile);
  });
}

/** Reads files as text. */
export async function readFiles(
  files: FileList | null | undefined,
  onFile: (name: string, text: string) => void,
): Promise<void> {
  for (const file of files ?? []) onFile(file.name, await file.text());
}
