// What has to be said over the canvas: what stands between the person's work and the file, and what to do about it.
import { useState } from "react";
import { address, go } from "../address.ts";
import type { Desk, View } from "../desk.ts";
import { actor, did, plural, touched, when } from "../words.ts";
import { Conflict } from "./conflict.tsx";
import { Dialog, Notice } from "./frame.tsx";

/** What the page has to say over the canvas, the most urgent first. */
export function Says({ desk, view }: { desk: Desk; view: View }) {
  const { keeping } = view;
  const { halt } = keeping;
  const kept = view.drafts[0];
  switch (halt.kind) {
    case "conflict":
      return <Conflict desk={desk} view={view} />;
    case "refused": {
      const id = ["element_id", "elementId", "element", "id"].map((key) => halt.failure.details[key]).find((value) => typeof value === "string");
      return (
        <Notice
          tone="bad"
          alert
          actions={
            <>
              {typeof id === "string" ? (
                <button type="button" onClick={() => desk.showElements(new Set([id]))}>
                  Show the element
                </button>
              ) : null}
              <button type="button" onClick={() => desk.choose("again")}>
                Try again
              </button>
            </>
          }
        >
          <strong>{halt.failure.message}</strong> <span className="quiet">{halt.failure.next} Your work is kept in this browser.</span>
        </Notice>
      );
    }
    case "expired":
      return (
        <Notice tone="bad" alert actions={<button type="button" onClick={() => desk.choose("again")}>Try again</button>}>
          <strong>This session has expired.</strong>{" "}
          <span className="quiet">
            Open the address that <code>countermark serve</code> printed, in a new tab; then try again here. Your work is kept in this browser.
          </span>
        </Notice>
      );
    case "gone":
      return (
        <Notice
          tone="bad"
          alert
          actions={
            <>
              {halt.to ? (
                <button type="button" onClick={() => void go(address(halt.to as string))}>
                  Open {halt.to}
                </button>
              ) : null}
              <button type="button" onClick={() => desk.choose("recreate")}>
                Save as {desk.name} again
              </button>
            </>
          }
        >
          <strong>{halt.to ? `This scene is now called ${halt.to}.` : "This scene was renamed or moved to the trash."}</strong>{" "}
          <span className="quiet">What you see here is only in this window.</span>
        </Notice>
      );
    case "offline":
      return (
        <Notice tone="attention" alert actions={<button type="button" onClick={() => desk.choose("again")}>Try now</button>}>
          <strong>The server does not answer.</strong>{" "}
          <span className="quiet">Keep drawing: your work is kept in this browser and the same save is sent again.</span>
        </Notice>
      );
    case "shrinks":
      return null;
    case "busy":
    case "none":
  }
  if (kept) {
    return (
      <Notice
        tone="attention"
        actions={
          <>
            <button type="button" className="main" onClick={() => void desk.bringBack(kept)} disabled={keeping.saving}>
              {kept.aside ? "Get it back" : "Restore them"}
            </button>
            <button type="button" onClick={() => void desk.discard(kept)}>
              Discard
            </button>
          </>
        }
      >
        <strong>{kept.aside ? "Your own version is set aside" : "There are unsaved changes"}</strong>{" "}
        <span className="quiet">
          from {when(kept.at)}, made on revision {kept.base.revision}.
        </span>
      </Notice>
    );
  }
  if (keeping.seen && keeping.gesture) {
    return <Notice tone="plain">{actor(keeping.seen.by)}’s changes wait until you finish.</Notice>;
  }
  if (view.news) {
    const made = view.news.difference;
    return (
      <Notice
        tone="plain"
        actions={
          <>
            {made.added.length + made.changed.length > 0 ? (
              <button type="button" onClick={desk.showNews}>
                Show
              </button>
            ) : null}
            <button type="button" className="plain" onClick={desk.dismissNews} aria-label="Dismiss">
              ×
            </button>
          </>
        }
      >
        {actor(view.news.by)} {made.added.length || made.removed.length ? did(made) : `changed ${plural(touched(made), "element")}`}
      </Notice>
    );
  }
  return null;
}

export function Shrinks({ desk, view }: { desk: Desk; view: View }) {
  const { before, after, lost } = view.keeping.edit;
  const [later, setLater] = useState(false);
  if (later) {
    return (
      <div className="notices">
        <Notice
          tone="attention"
          actions={
            <button type="button" onClick={() => setLater(false)}>
              Answer
            </button>
          }
        >
          <strong>Not saved.</strong> <span className="quiet">The file still has its {plural(before, "element")}. Ctrl+Z brings yours back.</span>
        </Notice>
      </div>
    );
  }
  return (
    <Dialog title={after === 0 ? "Save an empty scene?" : "Save with most of it gone?"} onClose={() => setLater(true)} urgent>
      <p>
        {after === 0 ? `All ${plural(before, "element")} of the file would be gone.` : `${lost} of the file’s ${plural(before, "element")} would be gone.`} The revision
        before stays in the history.
      </p>
      <p className="actions">
        <button type="button" autoFocus onClick={() => setLater(true)}>
          Don’t save yet
        </button>
        <button type="button" className="danger" onClick={() => desk.choose("shrink")}>
          {after === 0 ? "Save it empty" : "Save it"}
        </button>
      </p>
    </Dialog>
  );
}
