// The table of flows: switches, schemes, and each flow's figures.

import { flowStyles, type Catalog, type FlowStyle } from "./catalog";
import { element, formatShort } from "./dom";
import { scripts } from "./scripts";
import { WAYS, type FlowSetting, type Way } from "./state";

/** Counters of a flow in the simulator. */
export interface FlowStatus {
  on: boolean;
  starts: number;
  goodput_bytes: number;
  in_flight_bytes: number;
  srtt_ms: number;
  lost: number;
  dropped: number;
  marked: number;
  accelerated: number;
  braked: number;
  /** Packets that the flow's first link has transmitted or dropped. */
  entered: number;
  rules: number[] | null;
}

/** Returns the number of lost packets, and their share of those that left the first link or were dropped there. */
function lostText(flow: FlowStatus): string {
  const share = (100 * flow.lost) / Math.max(1, flow.entered);
  return flow.lost === 0 ? "0" : `${flow.lost} (${share < 0.095 ? share.toFixed(2) : formatShort(share)} %)`;
}

const OTHER = "\u0000other";

export class FlowTable {
  readonly node: HTMLElement;
  styles: FlowStyle[] = [];
  private readonly lines: {
    swatch: HTMLElement;
    switch: HTMLInputElement;
    select: HTMLSelectElement;
    text: HTMLInputElement;
    extra: HTMLInputElement;
    via: HTMLSelectElement;
    cells: HTMLElement[];
  }[] = [];
  private before: { time: number; flows: FlowStatus[] } | undefined;

  constructor(
    private readonly catalog: Catalog,
    private readonly settings: FlowSetting[],
    /**
     * Called when a flow was switched or got another scheme; with its setting before the change.
     */
    private readonly changed: (flow: number, before: FlowSetting) => void,
  ) {
    const heads = [
      ["Flow", ""], ["Scheme", ""], ["RTT + ms", "additional round-trip time of this flow", "path"],
      ["Links", "links that this flow passes", "path way"], ["Mbit/s", "what reaches the receiver", "number"],
      ["RTT ms", "smoothed round-trip time", "number"], ["In flight", "packets", "number"],
      ["Lost", "packets that the sender has found lost, and their share", "number"],
      ["Marks", "ABC: share of accelerates; else packets marked CE", "number"],
    ];
    const head = heads.map(([text, title, kind]) =>
      element("th", { scope: "col", title: title!, class: kind ?? "" }, text!));
    const body = element("tbody");
    settings.forEach((_, flow) => body.append(this.line(flow)));
    this.node = element("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Flows" },
      element("table", { class: "flows" }, element("caption", {}, "Flows"),
        element("thead", {}, element("tr", {}, ...head)), body));
    this.repaint();
  }

  private line(flow: number): HTMLElement {
    const swatch = element("span", { class: "swatch", "aria-hidden": "true" });
    const toggle = element("input", {
      type: "checkbox", role: "switch", id: `flow-${flow + 1}`, "aria-label": `Flow ${flow + 1} on`,
      onchange: () => this.change(flow, { on: toggle.checked }),
    });
    const select = element("select", {
      "aria-label": `Scheme of flow ${flow + 1}`,
      onchange: () => {
        text.hidden = select.value !== OTHER;
        if (text.hidden) this.change(flow, { scheme: select.value });
        else text.focus();
      },
    });
    const text = element("input", {
      type: "text", hidden: true, "aria-label": `Scheme of flow ${flow + 1}, with parameters`,
      placeholder: "abc[dt=60ms]", spellcheck: false,
      onchange: () => text.value.trim() && this.change(flow, { scheme: text.value.trim() }),
    });
    const schemes = this.catalog.schemes.map((scheme) =>
      element("option", { value: scheme.name, title: scheme.summary }, scheme.name));
    const variants = this.catalog.schemes.flatMap((scheme) => scheme.variants.map((variant) =>
      element("option", { value: `${scheme.name}[variant=${variant}]` }, `${scheme.name}: ${variant}`)));
    const tables = this.catalog.tables.map((table) =>
      element("option", { value: `remy[table=${table.name}]`, title: table.summary }, `remy: ${table.name}`));
    const written = scripts.all().map(({ name }) => element("option", { value: name }, name));
    if (written.length > 0) select.append(element("optgroup", { label: "Written here" }, ...written));
    select.append(
      element("optgroup", { label: "Schemes" }, ...schemes),
      element("optgroup", { label: "Variants" }, ...variants),
      element("optgroup", { label: "Tables of rules" }, ...tables),
      element("option", { value: OTHER }, "with parameters …"),
    );
    const extra = element("input", {
      type: "number", min: "0", max: "10000", step: "any", "aria-label": `Additional RTT of flow ${flow + 1} in ms`,
      onchange: () => {
        const value = Number(extra.value);
        if (extra.value !== "" && value >= 0 && value <= 10_000) this.change(flow, { extra: value });
        else this.repaint();
      },
    });
    const via = element("select", {
      "aria-label": `Links of flow ${flow + 1}`, onchange: () => this.change(flow, { via: via.value as Way }),
    }, ...WAYS.map((way) => element("option", { value: way }, way)));
    const cells = Array.from({ length: 5 }, () => element("td", { class: "number" }, "–"));
    this.lines.push({ swatch, switch: toggle, select, text, extra, via, cells });
    return element("tr", {},
      element("th", { scope: "row" }, element("label", {}, toggle, swatch, ` ${flow + 1}`)),
      element("td", {}, select, text), element("td", { class: "path" }, extra),
      element("td", { class: "path way" }, via), ...cells);
  }

  private change(flow: number, change: Partial<FlowSetting>): void {
    const before = { ...this.settings[flow]! };
    Object.assign(this.settings[flow]!, change);
    this.repaint();
    this.changed(flow, before);
  }

  /** Shows the present settings. */
  repaint(): void {
    this.styles = flowStyles(this.catalog, this.settings.map((flow) => flow.scheme));
    this.lines.forEach((line, flow) => {
      const { scheme, on } = this.settings[flow]!;
      line.switch.checked = on;
      const known = [...line.select.options].some((option) => option.value === scheme);
      line.select.value = known ? scheme : OTHER;
      line.text.hidden = known;
      if (!known) line.text.value = scheme;
      line.extra.value = String(this.settings[flow]!.extra);
      line.via.value = this.settings[flow]!.via;
      const style = this.styles[flow]!;
      line.swatch.style.setProperty("--light", style.light);
      line.swatch.style.setProperty("--dark", style.dark);
      line.swatch.dataset["dash"] = style.dash;
      line.swatch.closest("tr")?.classList.toggle("off", !on);
    });
  }

  /** Shows the columns of each flow's path, and that of its links if there are two. */
  showPaths(on: boolean, links: boolean): void {
    this.node.classList.toggle("paths", on);
    this.node.classList.toggle("ways", on && links);
  }

  /** Shows the counters; rates are averages over about a second. */
  update(time: number, flows: FlowStatus[]): void {
    const before = this.before;
    if (!before || time < before.time) {
      this.before = { time, flows };
      return;
    }
    const seconds = time - before.time;
    if (seconds < 0.02) return;
    flows.forEach((flow, index) => {
      const was = before.flows[index];
      const same = was && was.starts === flow.starts;
      const since = (name: keyof FlowStatus & ("goodput_bytes" | "accelerated" | "braked")) =>
        same ? flow[name] - was[name] : flow[name];
      const [fast, slow] = [since("accelerated"), since("braked")];
      const marks = fast + slow > 0 ? `${Math.round((100 * fast) / (fast + slow))} % acc.` : String(flow.marked);
      const idle = !flow.on && flow.in_flight_bytes === 0;
      const texts = [
        formatShort((since("goodput_bytes") * 8e-6) / seconds), flow.srtt_ms > 0 ? formatShort(flow.srtt_ms) : "–",
        String(Math.round(flow.in_flight_bytes / 1500)), lostText(flow), marks,
      ];
      this.lines[index]!.cells.forEach((cell, at) => (cell.textContent = idle ? "–" : texts[at]!));
    });
    if (seconds > 0.4) this.before = { time, flows };
  }

  restart(): void {
    this.before = undefined;
    for (const line of this.lines) for (const cell of line.cells) cell.textContent = "–";
  }
}
