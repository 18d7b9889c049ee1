import { useSyncExternalStore } from "react";

export type Choice = "light" | "dark" | "system";
export const CHOICES: readonly Choice[] = ["system", "light", "dark"];

const KEY = "countermark-theme";
const dark = matchMedia("(prefers-color-scheme: dark)");
const watchers = new Set<() => void>();

const chosen = (): Choice => {
  const value = globalThis.document.documentElement.dataset.theme;
  return value === "light" || value === "dark" ? value : "system";
};

export function choose(choice: Choice): void {
  globalThis.document.documentElement.dataset.theme = choice;
  try {
    localStorage.setItem(KEY, choice);
  } catch {
    // A browser that keeps nothing still shows what was chosen.
  }
  for (const watcher of watchers) watcher();
}

function subscribe(watcher: () => void): () => void {
  watchers.add(watcher);
  dark.addEventListener("change", watcher);
  return () => {
    watchers.delete(watcher);
    dark.removeEventListener("change", watcher);
  };
}

export const useChoice = (): Choice => useSyncExternalStore(subscribe, chosen);

/** Light or dark as it is to be drawn now. */
export const useTheme = (): "light" | "dark" =>
  useSyncExternalStore(subscribe, () => (chosen() === "system" ? (dark.matches ? "dark" : "light") : (chosen() as "light" | "dark")));
