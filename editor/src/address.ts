// Where the page is: `/` is the list, `/s/<name>` one scene. The address is the browser's; React only follows it.
import { useSyncExternalStore } from "react";

export type Place = { readonly at: "list" } | { readonly at: "scene"; readonly name: string } | { readonly at: "nowhere" };

const watchers = new Set<() => void>();
let leaving: (() => Promise<void>) | null = null;

/** A scene's address, and of one element in it. */
export const address = (name: string, element: string | null = null): string =>
  `/s/${encodeURIComponent(name)}${element === null ? "" : `#${SHOW}${encodeURIComponent(element)}`}`;

const SHOW = "show=";

/** The element that the address names, once: a page that is loaded again looks at the whole. */
export function asked(): string | null {
  if (!location.hash.startsWith(`#${SHOW}`)) return null;
  const element = decodeURIComponent(location.hash.slice(SHOW.length + 1));
  history.replaceState(null, "", location.pathname);
  return element;
}

function place(path: string): Place {
  if (path === "/" || path === "") return { at: "list" };
  const found = /^\/s\/([^/]+)\/?$/.exec(path);
  return found?.[1] ? { at: "scene", name: decodeURIComponent(found[1]) } : { at: "nowhere" };
}

/** Where the page began. */
export const beginning: Place = place(location.pathname);

let known: { path: string; place: Place } | null = null;

function now(): Place {
  if (known?.path !== location.pathname) known = { path: location.pathname, place: place(location.pathname) };
  return known.place;
}

function subscribe(watcher: () => void): () => void {
  watchers.add(watcher);
  addEventListener("popstate", watcher);
  return () => {
    watchers.delete(watcher);
    removeEventListener("popstate", watcher);
  };
}

export const usePlace = (): Place => useSyncExternalStore(subscribe, now);

/** What has to be done before the page goes elsewhere. */
export const beforeLeaving = (work: (() => Promise<void>) | null): void => void (leaving = work);

export async function go(path: string): Promise<void> {
  await leaving?.();
  history.pushState(null, "", path);
  for (const watcher of watchers) watcher();
}
