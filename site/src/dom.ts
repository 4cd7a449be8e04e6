// Small helpers for the document.

type Child = Node | string;

/** An element with attributes and children; `on...` attributes are listeners. */
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

/** The element with this id. */
export function byId<T extends HTMLElement = HTMLElement>(id: string): T {
  const found = document.getElementById(id);
  if (!found) throw new Error(`there is no #${id}`);
  return found as T;
}

/** Says something to those who hear the page, and shows errors to all. */
export function announce(text: string): void {
  const line = byId("announcement");
  line.textContent = "";
  // A change is only read if it comes after the line was empty.
  setTimeout(() => (line.textContent = text), 50);
}

/** Shows an error; an empty text takes it away. */
export function showError(place: HTMLElement, error: unknown): void {
  const text = error instanceof Error ? error.message : String(error ?? "");
  place.textContent = text;
  place.hidden = text === "";
}

/** A number with about three digits. */
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

/** A drawing or a table of the simulator's own making, whose texts it has escaped. */
export function parseMarkup(markup: string): DocumentFragment {
  const template = document.createElement("template");
  template.innerHTML = markup;
  return template.content;
}

/** The text of files that are dropped on a place or chosen; `onFile` hears of each. */
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
