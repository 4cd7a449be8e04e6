// The tabs of the page, and which of them the address names.

export const TABS = ["ratatouille", "compare", "claims", "documents"] as const;

/** The tab of the address, and what stands behind it. */
export function currentTab(): { tab: (typeof TABS)[number]; rest: string } {
  const found = /^#(\w+)[?/]?(.*)$/.exec(location.hash);
  const tab = TABS.find((name) => name === found?.[1]) ?? "ratatouille";
  return { tab, rest: found?.[1] === tab ? found[2]! : "" };
}
