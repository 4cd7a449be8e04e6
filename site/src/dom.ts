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

/** Most files of a dropped folder, and the depth of folders in it that are read. */
const [MOST_FILES, DEEPEST] = [1000, 4];

/** Adds the file of an entry, or the files of a folder. */
async function collect(entry: FileSystemEntry, files: File[], depth: number): Promise<void> {
  if (files.length >= MOST_FILES || depth > DEEPEST) return;
  if (entry.isFile) {
    files.push(await new Promise<File>((resolve, reject) => (entry as FileSystemFileEntry).file(resolve, reject)));
    return;
  }
  const reader = (entry as FileSystemDirectoryEntry).createReader();
  for (;;) {
    // A reader gives some entries at a time, and at last none.
    const entries = await new Promise<FileSystemEntry[]>((resolve, reject) => reader.readEntries(resolve, reject));
    if (entries.length === 0) return;
    for (const inner of entries) await collect(inner, files, depth + 1);
  }
}

/** Returns the files that were dropped, with those in folders. */
async function droppedFiles(transfer: DataTransfer | null): Promise<File[]> {
  const files: File[] = [];
  const entries: FileSystemEntry[] = [];
  // Items can be read during the event only.
  for (const item of transfer?.items ?? []) {
    const entry = item.webkitGetAsEntry?.();
    const file = item.getAsFile();
    if (entry) entries.push(entry);
    else if (file) files.push(file);
  }
  for (const entry of entries) await collect(entry, files, 0);
  return files;
}

/** Calls `onFile` with each file that is dropped on a place. */
export function acceptFiles(place: HTMLElement, onFile: (name: string, text: string) => void): void {
  acceptAll(place, (files) => void readFiles(files, onFile));
}

/** Calls `onFiles` with all files of a drop on a place, also those in folders. */
export function acceptAll(place: HTMLElement, onFiles: (files: File[]) => void): void {
  place.addEventListener("dragover", (event) => {
    event.preventDefault();
    place.classList.add("over");
  });
  place.addEventListener("dragleave", () => place.classList.remove("over"));
  place.addEventListener("drop", (event) => {
    event.preventDefault();
    place.classList.remove("over");
    void droppedFiles(event.dataTransfer).then(onFiles);
  });
}

/** Reads files as text. */
export async function readFiles(
  files: FileList | File[] | null | undefined,
  onFile: (name: string, text: string) => void,
): Promise<void> {
  for (const file of files ?? []) onFile(file.name, await file.text());
}
