// One scene: the bar with its state line, the editor, and what has to be said over it.
import { useCallback, useEffect, useState, useSyncExternalStore } from "react";
import { asked, beforeLeaving, go } from "../address.ts";
import { Desk, type View } from "../desk.ts";
import * as draft from "../draft.ts";
import { Unreadable, type Mark } from "../scene.ts";
import type { News } from "../stream.ts";
import { useTheme } from "../theme.ts";
import * as wire from "../wire.ts";
import { revision, status } from "../words.ts";
import { Canvas, focusCanvas } from "./canvas.tsx";
import { Dialog, Failed, Link, Notice, ThemeChoice } from "./frame.tsx";
import { History } from "./history.tsx";
import { Says, Shrinks } from "./says.tsx";

type Listen = (listen: (news: News) => void) => () => void;
type Loaded = { readonly desk: Desk } | { readonly failure: wire.Failure; readonly mark: Mark | null } | null;

const FONT = "/dsh-excalidraw/assets/fonts/Excalifont/";

/** A missing font file is silent in the editor: text falls back and is measured wrongly. So one is asked for. */
async function fontsAnswer(): Promise<boolean> {
  await globalThis.document.fonts.load("20px Excalifont", "A").catch(() => []);
  const faces = [...globalThis.document.fonts].filter((face) => face.family === "Excalifont");
  return faces.length === 0 || faces.some((face) => face.status === "loaded");
}

export default function Scene({ name, health, news }: { name: string; health: wire.Health; news: Listen }) {
  const [loaded, setLoaded] = useState<Loaded>(null);
  const [turn, setTurn] = useState(0);
  const again = useCallback(() => setTurn((last) => last + 1), []);

  useEffect(() => {
    document.title = name;
    let over = false;
    let made: Desk | null = null;
    setLoaded(null);
    (async () => {
      try {
        const [opened, drafts] = await Promise.all([wire.open(name), draft.left(health.drawingsDir, name).catch(() => [])]);
        if (over) return;
        try {
          made = new Desk(opened, health.drawingsDir, health.readOnly, drafts);
          setLoaded({ desk: made });
        } catch (error) {
          if (!(error instanceof Unreadable)) throw error;
          const failure: wire.Failure = { ...wire.UNREACHABLE, kind: "corrupt", code: "unreadable", message: error.message, next: null };
          setLoaded({ failure, mark: opened.mark });
        }
      } catch (error) {
        if (over) return;
        const failure = error instanceof wire.Refusal ? error.failure : { ...wire.UNREACHABLE, kind: "refused" as const, message: String(error), next: null };
        setLoaded({ failure, mark: null });
      }
    })().catch(() => undefined);
    return () => {
      over = true;
      made?.close();
    };
  }, [name, health, turn]);

  if (loaded === null) return <p className="first-words">Opening {name}…</p>;
  if ("failure" in loaded) return <Unopened name={name} failure={loaded.failure} mark={loaded.mark} again={again} readOnly={health.readOnly} />;
  return <Open desk={loaded.desk} news={news} again={again} />;
}

function Unopened({ name, failure, mark, again, readOnly }: { name: string; failure: wire.Failure; mark: Mark | null; again: () => void; readOnly: boolean }) {
  const [past, setPast] = useState(false);
  const theme = useTheme();
  const known = mark?.revision ?? Number(failure.details.currentRevision ?? failure.details.revision ?? 0);
  return (
    <>
      <Failed
        failure={failure}
        name={name}
        again={again}
        history={
          <button type="button" onClick={() => setPast(true)}>
            History
          </button>
        }
      />
      {past ? (
        <History
          name={name}
          expected={known}
          waiting={null}
          dark={theme === "dark"}
          readOnly={readOnly}
          close={() => {
            setPast(false);
            again();
          }}
        />
      ) : null}
    </>
  );
}

/** Wait until nothing is unsaved or the person has to answer, at most two seconds: the draft is kept in any case. */
async function settled(desk: Desk): Promise<void> {
  desk.saveNow();
  const rests = (view: View): boolean => !view.keeping.saving && (!view.keeping.edit.dirty || view.keeping.halt.kind !== "none");
  await new Promise<void>((resolve) => {
    const late = setTimeout(finish, 2000);
    const stop = desk.subscribe(() => rests(desk.current()) && finish());
    function finish(): void {
      clearTimeout(late);
      stop();
      resolve();
    }
    if (rests(desk.current())) finish();
  });
  desk.keepNow();
}

function Open({ desk, news, again }: { desk: Desk; news: Listen; again: () => void }) {
  const view = useSyncExternalStore(desk.subscribe, desk.current);
  const theme = useTheme();
  const [past, setPast] = useState(false);
  const [fonts, setFonts] = useState(true);
  const [shelf, setShelf] = useState<string | null>(null);

  useEffect(() => news(desk.heard), [desk, news]);

  useEffect(() => {
    wire.report("mounted", { name: desk.name, width: innerWidth, height: innerHeight, theme });
    const gone = (): void => {
      desk.keepNow();
      wire.report("unmounted", { name: desk.name });
    };
    const hidden = (): void => void (document.visibilityState === "hidden" && desk.keepNow());
    const stop = (event: BeforeUnloadEvent): void => {
      if (!desk.current().keeping.edit.dirty) return;
      desk.keepNow();
      event.preventDefault();
    };
    const online = (): void => desk.tell({ on: "retry" });
    const key = (event: KeyboardEvent): void => {
      if (!(event.ctrlKey || event.metaKey) || event.altKey) return;
      const pressed = event.key.toLowerCase();
      if (pressed !== "s" && pressed !== "o") return;
      // The editor's own open and save would leave the folder; saving here is saving the scene.
      event.preventDefault();
      event.stopPropagation();
      if (pressed === "s") desk.saveNow();
    };
    addEventListener("pagehide", gone);
    addEventListener("beforeunload", stop);
    addEventListener("online", online);
    document.addEventListener("visibilitychange", hidden);
    addEventListener("keydown", key, { capture: true });
    beforeLeaving(() => settled(desk));
    return () => {
      wire.report("unmounted", { name: desk.name });
      removeEventListener("pagehide", gone);
      removeEventListener("beforeunload", stop);
      removeEventListener("online", online);
      document.removeEventListener("visibilitychange", hidden);
      removeEventListener("keydown", key, { capture: true });
      beforeLeaving(null);
    };
    // The theme that is reported is the one at mounting.
    // eslint-disable-next-line
  }, [desk]);

  useEffect(() => {
    if (!view.ready) return;
    fontsAnswer().then(setFonts, () => setFonts(false));
    const wanted = asked();
    if (wanted !== null) desk.showElements(new Set([wanted]));
  }, [view.ready, desk]);

  // A button that goes away with its notice leaves the keyboard to nobody; it goes back to the canvas.
  useEffect(() => {
    if (view.ready && document.activeElement === document.body && !document.querySelector("dialog[open]")) focusCanvas();
  });

  const said = status(view.keeping, view.connected, desk.readOnly);
  const halted = view.keeping.halt;
  const waiting =
    halted.kind !== "none" ? "Answer what the page asks first." : view.keeping.edit.dirty || view.keeping.saving ? "Your changes are being saved first." : null;
  return (
    <div className="desk" data-ready={view.ready} data-state={halted.kind === "none" ? (view.keeping.saving ? "saving" : view.keeping.edit.dirty ? "dirty" : "clean") : halted.kind}>
      <header className="bar">
        <Link to="/" className="back" label="All scenes">
          <svg viewBox="0 0 20 20" width="18" height="18" aria-hidden="true">
            <path d="M12.5 4.5 7 10l5.5 5.5" fill="none" stroke="currentColor" strokeWidth="1.8" strokeLinecap="round" strokeLinejoin="round" />
          </svg>
          <span>Scenes</span>
        </Link>
        <h1 title={desk.name}>{desk.name}</h1>
        <p className={`state ${said.tone}`} role="status" aria-live="polite" aria-label="Save state" title={`${said.state} · ${revision(view.keeping.base)}`}>
          <span className="dot" aria-hidden="true" />
          <span className="long">{said.state}</span>
          <span className="brief" aria-hidden="true">
            {said.short}
          </span>
          <code>{revision(view.keeping.base)}</code>
        </p>
        <button
          type="button"
          className="plain"
          onClick={() => {
            desk.saveNow();
            setPast(true);
          }}
        >
          History
        </button>
        <ThemeChoice />
      </header>
      <Canvas desk={desk} theme={theme} say={setShelf} />
      <div className="notices">
        {fonts ? null : (
          <Notice tone="bad" alert>
            The drawing fonts did not load from <code>{FONT}</code>: text is shown in another face and measured wrongly. Run{" "}
            <code>countermark doctor</code>.
          </Notice>
        )}
        {shelf ? (
          <Notice
            tone="attention"
            actions={
              <button type="button" className="plain" onClick={() => setShelf(null)} aria-label="Dismiss">
                ×
              </button>
            }
          >
            <strong>The library was not saved.</strong> <span className="quiet">{shelf}</span>
          </Notice>
        ) : null}
        <Says desk={desk} view={view} />
      </div>
      {halted.kind === "shrinks" ? <Shrinks desk={desk} view={view} /> : null}
      {view.unreadable ? (
        <Dialog title="The file can no longer be shown" onClose={() => void go("/")} urgent>
          <p>{view.unreadable} The file is left as it is, and nothing is saved over it.</p>
          <p className="actions">
            <button type="button" onClick={() => setPast(true)}>
              History
            </button>
            <button type="button" onClick={() => void go("/")}>
              All scenes
            </button>
          </p>
        </Dialog>
      ) : null}
      {past ? (
        <History
          name={desk.name}
          expected={view.keeping.base.revision}
          waiting={waiting}
          dark={theme === "dark"}
          readOnly={desk.readOnly}
          close={() => {
            setPast(false);
            if (view.unreadable) again();
            else desk.tell({ on: "look" });
          }}
        />
      ) : null}
    </div>
  );
}
