/** The stamp of the build, put in by Vite. */
declare const __BUILD__: string;

interface Window {
  EXCALIDRAW_ASSET_PATH: string;
  EXCALIDRAW_EXPORT_SOURCE: string;
}
