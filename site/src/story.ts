// Six chapters beside the live plot. Their sentences have buttons that set the simulation.

import chapters from "./chapters.json";
import { announce, byId, element } from "./dom";
import type { Ratatouille, SettingChange } from "./ratatouille";
import { FLOWS, type FlowSetting } from "./state";

/** What a button sets, in chapters.json: the setting, flows that are on, and their additional RTTs. */
type Steps = Omit<SettingChange, "flows"> & { on?: Record<string, string>; extra?: Record<string, number> };

/** Text, a button, a measured figure, or a link to another view of the page. */
type Part = string | { say: string; set: Steps } | { figure: string } | { see: string; at: string };

/** Returns the change of the setting with all flows: those that are not named are off. */
function changeOf({ on, extra, ...rest }: Steps): SettingChange {
  const flows: Record<number, Partial<FlowSetting>> = {};
  for (let flow = 0; flow < FLOWS; flow += 1) {
    const scheme = on?.[String(flow + 1)];
    const path = { extra: extra?.[String(flow + 1)] ?? 0, via: "both" as const };
    flows[flow] = scheme === undefined ? { on: false, ...path } : { on: true, scheme, ...path };
  }
  return { ...rest, flows };
}

export class Story {
  private readonly place = byId("story");

  constructor(private readonly live: Ratatouille) {}

  /** Shows a chapter, the first one if there is none of this name, or hides the text. */
  show(on: boolean, name: string): void {
    this.place.hidden = !on;
    byId("play").classList.toggle("telling", on);
    byId("story-offer").hidden = on;
    if (!on) return;
    const number = Math.max(0, chapters.findIndex((chapter) => chapter.id === name));
    if (this.place.dataset["chapter"] === String(number)) return;
    this.place.dataset["chapter"] = String(number);
    const chapter = chapters[number]!;
    // Each button adds to what the earlier ones have set, also if a reader left one out.
    let sofar: Steps = {};
    const paragraphs = (chapter.text as Part[][]).map((parts) => element("p", {}, ...parts.map((part) => {
      if (typeof part === "string") return part;
      if ("figure" in part) return element("b", {}, part.figure);
      if ("see" in part) return element("a", { href: `#${part.at}` }, part.see);
      sofar = { ...sofar, ...part.set };
      const steps = sofar;
      return element("button", {
        type: "button", class: "set",
        onclick: () => {
          void this.live.apply(changeOf(steps), true);
          announce(`The simulation begins anew: ${part.say}.`);
        },
      }, part.say);
    })));
    const link = (to: number, text: string) => {
      const target = chapters[to];
      return target ? [element("a", { href: `#story/${target.id}` }, `${text}: ${target.title}`)] : [];
    };
    const list = element("ol", { class: "chapters" }, ...chapters.map((one, at) => {
      const entry = element("a", { href: `#story/${one.id}` }, one.title);
      if (at === number) entry.setAttribute("aria-current", "page");
      return element("li", {}, entry);
    }));
    this.place.replaceChildren(
      element("nav", { "aria-label": "Chapters" }, list), element("h2", { tabindex: "-1" }, chapter.title), ...paragraphs,
      element("p", { class: "note" }, "The controls below and the keys (space: pause, arrow to the right: step) work as ever. "
        + "Figures are those of seed 1."),
      element("p", { class: "turn" }, ...link(number - 1, "Back"), ...link(number + 1, "Next")));
    // The first button of the chapter is pressed for the reader.
    const first = (chapter.text as Part[][]).flat().find((part): part is { say: string; set: Steps } =>
      typeof part === "object" && "set" in part);
    if (first) void this.live.apply(changeOf({ pipe: false, ...first.set }), true);
  }
}
