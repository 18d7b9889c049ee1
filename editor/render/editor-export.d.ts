declare module "virtual:editor-export" {
  export function exportToSvg(options: {
    elements: readonly object[];
    appState: Record<string, unknown>;
    files: Record<string, unknown>;
    exportPadding: number;
    skipInliningFonts: boolean;
  }): Promise<{ outerHTML: string }>;
}
