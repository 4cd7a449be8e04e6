// A text area for code, with the numbers of its lines.

import { element } from "./dom";

export class Editor {
  readonly node: HTMLElement;
  private readonly area: HTMLTextAreaElement;
  private readonly gutter = element("div", { class: "gutter", "aria-hidden": "true" });

  constructor(id: string, label: string, onchange: () => void) {
    this.area = element("textarea", {
      id, "aria-label": label, spellcheck: "false", autocomplete: "off", autocapitalize: "off", wrap: "off", rows: "18",
      oninput: () => {
        this.number();
        onchange();
      },
      onscroll: () => (this.gutter.scrollTop = this.area.scrollTop),
    });
    this.node = element("div", { class: "editor" }, this.gutter, this.area);
  }

  get text(): string {
    return this.area.value;
  }

  set text(text: string) {
    this.area.value = text;
    this.number();
  }

  /** Selects a line, counted from 1, without taking the focus. */
  select(line: number): void {
    const lines = this.text.split("\n");
    const start = lines.slice(0, line - 1).reduce((sum, text) => sum + text.length + 1, 0);
    this.area.setSelectionRange(start, start + (lines[line - 1]?.length ?? 0));
    this.number(line);
  }

  /** Writes the numbers of the lines; marks one of them. */
  private number(marked?: number): void {
    const count = this.text.split("\n").length;
    this.gutter.replaceChildren(...Array.from({ length: count }, (_, at) =>
      element("div", { class: at + 1 === marked ? "wrong" : "" }, String(at + 1))));
    this.gutter.scrollTop = this.area.scrollTop;
  }
}
