// The simulator's catalog: schemes with their plot styles, queues, traces, tables of rules.

export type Dash = "solid" | "dashed" | "dotted" | "longdashed" | "dashdot";

export interface Scheme {
  name: string;
  summary: string;
  /** Its colour on white; below, on a dark background. */
  light: string;
  dark: string;
  dash: Dash;
  /** Its specification for bulk data, if its defaults do not fit; otherwise null. */
  bulk: string | null;
  router: boolean;
  /** Its variants, without the default one. */
  variants: string[];
}

export interface Catalog {
  version: string;
  schemes: Scheme[];
  queues: { name: string; summary: string }[];
  traces: string[];
  tables: { name: string; summary: string }[];
}

/**
 * Returns the name under which the trace of a dropped file is known: the file's, unless it is one of `taken`. The
 * ending stays, which says the format.
 */
export function nameOfFile(file: string, taken: string[]): string {
  const [, stem = file, ending = ""] = /^(.+?)(\.[^.]*)?$/.exec(file) ?? [];
  let name = file;
  for (let number = 2; taken.includes(name); number += 1) name = `${stem}-${number}${ending}`;
  return name;
}

/** Plot style of a flow. */
export interface FlowStyle {
  light: string;
  dark: string;
  dash: Dash;
}

/** Returns the name of a scheme without parameters. */
export function schemeName(scheme: string): string {
  return scheme.split(/[[+]/, 1)[0]!.trim().toLowerCase();
}

/** Style of controllers that are written in the page. */
const OWN: FlowStyle = { light: "#8a1c7c", dark: "#f58fe0", dash: "solid" };

const DASHES: Dash[] = ["solid", "dashed", "dotted", "longdashed", "dashdot"];

/** Returns a style for each flow: its scheme's, with another dash for a second flow of a scheme. */
export function flowStyles(catalog: Catalog, schemes: string[]): FlowStyle[] {
  const used: string[] = [];
  return schemes.map((text) => {
    const name = schemeName(text);
    const known = catalog.schemes.find((scheme) => scheme.name === name) ?? OWN;
    const order = [known.dash, ...DASHES.filter((dash) => dash !== known.dash)];
    const free = order.find((dash) => !used.includes(known.light + dash)) ?? known.dash;
    used.push(known.light + free);
    return { light: known.light, dark: known.dark, dash: free };
  });
}

/** Returns the pattern of a dash on a canvas. */
export function dashPattern(dash: Dash): number[] {
  const patterns = {
    solid: [],
    dashed: [7, 4],
    dotted: [2, 3],
    longdashed: [16, 4],
    dashdot: [8, 3, 2, 3],
  };
  return patterns[dash];
}
