// The rules of a RemyCC, highlighted when they are used.

import type { Client } from "./client";
import { element } from "./dom";

interface Rule {
  box: { signal: string; from: number; below: number }[];
  multiple: number;
  increment: number;
  intersend_ms: number;
}

function describeAction(rule: Rule): string {
  const sign = rule.increment < 0 ? "−" : "+";
  return `window × ${rule.multiple} ${sign} ${Math.abs(rule.increment)}, at least ${rule.intersend_ms} ms between packets`;
}

/** Panel with the rules of one flow. */
export class RulePanel {
  readonly node = element("section", { class: "rules" });
  private rules: Rule[] = [];
  private cells: HTMLElement[] = [];
  private heat: number[] = [];
  private readonly grid = element("div", { class: "cells", role: "img" });
  private readonly most = element("ol", { class: "most" });

  constructor(private readonly flow: number) {}

  async load(client: Client): Promise<void> {
    const { rules } = await client.ask<{ rules: Rule[] | null }>({ method: "rules", flow: this.flow });
    this.rules = rules ?? [];
    this.heat = this.rules.map(() => 0);
    this.cells = this.rules.map((rule, number) => {
      const box = rule.box.map(({ signal, from, below }) => `${signal} ${from} to ${below}`).join("\n");
      return element("span", { title: `rule ${number}: ${describeAction(rule)}\n${box}` });
    });
    this.grid.replaceChildren(...this.cells);
    this.node.replaceChildren(
      element("h2", {}, `Rules of flow ${this.flow + 1}`), this.grid, this.most,
    );
    this.node.hidden = this.rules.length === 0;
  }

  /** Shows the uses of each rule since the last call. */
  showUses(uses: number[] | null): void {
    if (!uses || uses.length !== this.heat.length) return;
    this.heat = this.heat.map((heat, rule) => heat * 0.8 + uses[rule]!);
    const all = this.heat.reduce((sum, heat) => sum + heat, 0);
    if (all < 0.01) return;
    const order = this.heat.map((heat, rule) => ({ heat, rule })).sort((a, b) => b.heat - a.heat);
    for (const { heat, rule } of order) {
      // The square root makes rarely used rules visible, too.
      this.cells[rule]!.style.setProperty("--heat", String(Math.sqrt(heat / order[0]!.heat)));
    }
    const used = order.filter(({ heat }) => heat / all > 0.005);
    const items = used.slice(0, 3).map(({ heat, rule }) => {
      const share = Math.round((100 * heat) / all);
      return element("li", {}, `${share} % rule ${rule}: ${describeAction(this.rules[rule]!)}`);
    });
    this.most.replaceChildren(...items);
    this.grid.setAttribute("aria-label",
      `${used.length} of ${this.rules.length} rules in use; rule ${order[0]!.rule} most`);
  }
}
