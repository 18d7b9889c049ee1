// Somebody saved while the person drew: what differs, and the answers. Closing it is no answer and changes nothing.
import { useState } from "react";
import type { Desk, View } from "../desk.ts";
import { useTheme } from "../theme.ts";
import { actor, did } from "../words.ts";
import { Comparison, Glance } from "./compare.tsx";
import { Dialog, Notice } from "./frame.tsx";

export function Conflict({ desk, view }: { desk: Desk; view: View }) {
  const dark = useTheme() === "dark";
  const [seeing, setSeeing] = useState(false);
  const { keeping, conflict } = view;
  const shown = keeping.halt.kind === "conflict" ? keeping.halt.shown : null;
  const by = actor(conflict?.mark.by ?? keeping.seen?.by ?? null);
  const answers = (
    <>
      <button type="button" onClick={() => desk.choose("reload")} disabled={keeping.saving}>
        Reload from disk
      </button>
      <button type="button" className="danger" onClick={() => desk.choose("overwrite")} disabled={keeping.saving || keeping.looking || !shown}>
        Overwrite anyway
      </button>
    </>
  );
  const means = (
    <>
      Reload takes {by === "The agent" ? "the agent’s" : "the file’s"} version and sets yours aside, to get back. Overwrite makes yours the next revision; theirs stays in
      the history.
    </>
  );
  return (
    <>
      <Notice
        tone="bad"
        alert
        picture={conflict ? <Glance rivals={conflict} dark={dark} open={() => setSeeing(true)} /> : null}
        actions={
          <>
            {conflict ? (
              <button type="button" className="main" onClick={() => setSeeing(true)}>
                Compare
              </button>
            ) : null}
            {answers}
          </>
        }
      >
        <strong>
          {by} saved {conflict ? `revision ${conflict.mark.revision}` : "this scene"} while you were drawing.
        </strong>{" "}
        {conflict ? (
          <>
            {by} {did(conflict.changes.theirs)}; you {did(conflict.changes.mine)}.{" "}
          </>
        ) : null}
        <span className="quiet means">{means}</span>
      </Notice>
      {seeing && conflict ? (
        <Dialog title={`Two versions of ${desk.name}`} onClose={() => setSeeing(false)} className="wide">
          <Comparison rivals={conflict} dark={dark} />
          <p className="quiet">{means}</p>
          <p className="actions">
            <button type="button" onClick={() => setSeeing(false)} autoFocus>
              Decide later
            </button>
            {answers}
          </p>
        </Dialog>
      ) : null}
    </>
  );
}
