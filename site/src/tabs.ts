// The tabs of the page, and the tab in the address.

export const TABS = ["ratatouille", "story", "compare", "write", "claims", "documents"] as const;

/** Returns the tab in the address, and the rest of the address. */
export function currentTab(): { tab: (typeof TABS)[number]; rest: string } {
  const found = /^#(\w+)[?/]?(.*)$/.exec(location.hash);
  const tab = TABS.find((name) => name === found?.[1]) ?? "ratatouille";
  return { tab, rest: found?.[1] === tab ? found[2]! : "" };
}
