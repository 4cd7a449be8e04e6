// The plots of the live run, the choice of them, and the legend.

import type { View } from "./canvas";
import { byId, element } from "./dom";
import { Plot } from "./plot";
import { SERIES, SeriesPlot, type SeriesName } from "./series";

export class Stage {
  readonly plot = new Plot(byId<HTMLCanvasElement>("plot"));
  private series: SeriesPlot[] = [];
  private readonly boxes = new Map<SeriesName, HTMLInputElement>();
  private legend = "";

  constructor(private readonly plots: () => SeriesName[], changed: (plots: SeriesName[]) => void) {
    for (const [name, { title, says }] of Object.entries(SERIES) as [SeriesName, (typeof SERIES)[SeriesName]][]) {
      const box = element("input", {
        type: "checkbox", id: `plot-${name}`,
        onchange: () => changed([...this.boxes].filter(([, other]) => other.checked).map(([other]) => other)),
      });
      this.boxes.set(name, box);
      byId("plot-choice").append(element("label", { class: "chip", title: says }, box, ` ${title}`));
    }
  }

  /** Shows the plots of the setting. */
  show(): void {
    const names = this.plots();
    for (const [name, box] of this.boxes) box.checked = names.includes(name);
    if (names.join() === this.series.map((plot) => plot.name).join()) return;
    this.series = names.map((name) => new SeriesPlot(
      element("canvas", { role: "img", "aria-label": `${SERIES[name].title} over time: ${SERIES[name].says}` }), name));
    byId("series").replaceChildren(...this.series.map((plot) =>
      element("figure", { class: "series" }, element("figcaption", {}, SERIES[plot.name].title), plot.canvas)));
  }

  reset(): void {
    this.plot.reset();
    for (const plot of this.series) plot.reset();
  }

  draw(view: View): void {
    this.plot.draw(view);
    for (const plot of this.series) plot.draw(view);
    const { abc, ce } = this.plot.kinds(view);
    const several = view.shown.filter(Boolean).length > 1;
    const legend = [abc, ce, several, view.buffer > 0].join();
    if (legend === this.legend) return;
    this.legend = legend;
    byId("key-abc").hidden = !abc;
    byId("key-ce").hidden = !ce;
    byId("key-all").hidden = !several;
    byId("key-full").hidden = view.buffer === 0;
  }
}
