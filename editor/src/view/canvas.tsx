// The editor itself, with what of its menus makes sense on a folder of files.
import { Excalidraw, MainMenu } from "@excalidraw/excalidraw";
import "@excalidraw/excalidraw/index.css";
import type { ExcalidrawImperativeAPI, ExcalidrawProps } from "@excalidraw/excalidraw/types";
import { memo, useEffect, useRef, useState } from "react";
import type { Desk } from "../desk.ts";
import { Shelf } from "../shelf.ts";

// Scenes exported from the page name the program, not the address that it happened to have.
window.EXCALIDRAW_EXPORT_SOURCE = "countermark";

/** A frame of a scene is active content: it is shown as what it is and never runs. */
const renderEmbeddable: NonNullable<ExcalidrawProps["renderEmbeddable"]> = (element) => (
  <div className="embed">
    <span>{element.link ? "Embedded page, not loaded here" : "Embedded program, not run here"}</span>
    {element.link ? <code>{element.link}</code> : null}
  </div>
);

export const focusCanvas = (): void => document.querySelector<HTMLElement>(".canvas .excalidraw-container")?.focus();

export const Canvas = memo(function Canvas({ desk, theme, say }: { desk: Desk; theme: "light" | "dark"; say: (words: string | null) => void }) {
  const api = useRef<ExcalidrawImperativeAPI | null>(null);
  const [shelf] = useState(() => new Shelf((items) => void api.current?.updateLibrary({ libraryItems: items as never }), say));
  useEffect(() => {
    const front = (): void => void (document.visibilityState === "visible" && shelf.look());
    document.addEventListener("visibilitychange", front);
    addEventListener("focus", front);
    return () => {
      document.removeEventListener("visibilitychange", front);
      removeEventListener("focus", front);
    };
  }, [shelf]);
  return (
    <main className="canvas">
      <Excalidraw
        excalidrawAPI={(made) => {
          api.current = made;
        }}
        onChange={(_elements, state) => {
          // The editor sets its own empty scene first; only what comes after that is ours.
          if (api.current && !state.isLoading) desk.ready(api.current);
          desk.changed();
        }}
        initialData={() => ({ libraryItems: shelf.begin() as never })}
        onLibraryChange={(items) => shelf.changed(items)}
        theme={theme}
        name={desk.name}
        langCode="en"
        autoFocus
        detectScroll={false}
        aiEnabled={false}
        viewModeEnabled={desk.readOnly}
        validateEmbeddable={false}
        renderEmbeddable={renderEmbeddable}
        UIOptions={{
          canvasActions: { loadScene: false, saveToActiveFile: false, export: false, toggleTheme: false, clearCanvas: !desk.readOnly },
        }}
      >
        <MainMenu>
          <MainMenu.DefaultItems.SaveAsImage />
          <MainMenu.DefaultItems.SearchMenu />
          <MainMenu.DefaultItems.Help />
          {desk.readOnly ? null : <MainMenu.DefaultItems.ClearCanvas />}
          <MainMenu.Separator />
          <MainMenu.DefaultItems.ChangeCanvasBackground />
        </MainMenu>
      </Excalidraw>
    </main>
  );
});
