// Documents: the pages in the folder `docs`, and those that `make site` builds beside them.

import { documentAddress, fetchDocument } from "#parts";
import { byId, element, showError } from "./dom";
import { renderMarkdown } from "./markdown";

/**
 * Returns a path in a document of this folder relative to `docs`; null if it leads out of `docs`.
 */
export function joinPath(folder: string, path: string): string | null {
  const parts = folder === "" ? [] : folder.split("/");
  for (const part of path.split("/")) {
    if (part === "..") {
      if (parts.pop() === undefined) return null;
    } else if (part !== "." && part !== "") parts.push(part);
  }
  return parts.join("/");
}

/** Returns an address without its percent signs; throws an error in words if one of them has no code. */
function decoded(address: string): string {
  try {
    return decodeURIComponent(address);
  } catch {
    throw new Error(`The address of the document, ${address}, is damaged.`);
  }
}

export class Documents {
  private readonly choice = byId<HTMLSelectElement>("documents-name");
  private readonly text = byId("documents-text");
  private listed: Promise<void> | undefined;
  private asked = "";

  constructor() {
    this.choice.addEventListener("change", () => (location.hash = `#documents/${this.choice.value}`));
  }

  /** Shows a document; `rest` is its path without `.md`, with a heading's anchor after a `#`. */
  async activate(rest: string): Promise<void> {
    this.asked = rest;
    showError(byId("documents-error"), "");
    try {
      const [path, heading] = decoded(rest || "schemes").split("#") as [string, string?];
      this.listed ??= this.list();
      await this.listed;
      const markdown = await fetchDocument(`${path}.md`);
      // While this document was loading, another one was requested.
      if (rest !== this.asked) return;
      this.choice.value = path;
      this.text.replaceChildren(...renderMarkdown(markdown, 2, (target) => this.resolve(path, target)));
      const wanted = heading === undefined ? null : this.text.querySelector(`[data-anchor="${CSS.escape(heading)}"]`);
      (wanted ?? byId("documents")).scrollIntoView({ block: "start" });
    } catch (error) {
      if (rest === this.asked) showError(byId("documents-error"), error);
    }
  }

  private async list(): Promise<void> {
    const names = (await fetchDocument("index.txt")).split("\n").filter((name) => name !== "");
    this.choice.replaceChildren(...names.map((name) => element("option", { value: name }, name)));
  }

  private resolve(path: string, target: string): string | null {
    if (/^https?:/.test(target)) return target;
    const [file, heading] = target.split("#") as [string, string?];
    const behind = heading === undefined ? "" : `#${heading}`;
    if (file === "") return `#documents/${path}${behind}`;
    const joined = joinPath(path.split("/").slice(0, -1).join("/"), file);
    if (joined === null) return null;
    return joined.endsWith(".md") ? `#documents/${joined.slice(0, -3)}${behind}` : documentAddress(joined);
  }
}
