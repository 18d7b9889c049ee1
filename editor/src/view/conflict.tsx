// Somebody saved while the person drew: what differs, and the answers. Closing it is no answer and changes nothing.
import { useState } from "react";
import type { Desk, View } from "../desk.ts";
import { useTheme } from "../theme.ts";
import { actor, did } from "../words.ts";
import type { Dispute, Proposal } from "../wire.ts";
import { Comparison, Glance } from "./compare.tsx";
import { Dialog, Notice } from "./frame.tsx";

const CHOICES: { readonly [choice: string]: string } = { mine: "Yours", theirs: "Theirs", both: "Both" };

/** What both changed: one answer for each, before the two can be put together. */
function Disputes({ of, decide }: { of: readonly Dispute[]; decide: (id: string, choice: string) => void }) {
  return (
    <ul className="disputes">
      {of.map((one) => (
        <li key={one.id}>
          <fieldset>
            <legend>Both changed {one.name}</legend>
            <p className="quiet">
              Yours {one.mine.join(", ")}; theirs {one.theirs.join(", ")}.
            </p>
            {one.choices.map((choice) => (
              <label key={choice}>
                <input type="radio" name={`dispute-${one.id}`} checked={one.chosen === choice} onChange={() => decide(one.id, choice)} />
                {CHOICES[choice] ?? choice}
              </label>
            ))}
          </fieldset>
        </li>
      ))}
    </ul>
  );
}

const merges = (proposal: Proposal | null): string => {
  if (!proposal) return "";
  return proposal.disputes.length === 0 ? "You touched different things: merging keeps both. " : "Some things both of you changed: compare, and choose for each. ";
};

export function Conflict({ desk, view }: { desk: Desk; view: View }) {
  const dark = useTheme() === "dark";
  const [seeing, setSeeing] = useState(false);
  const { keeping, conflict } = view;
  const proposal = conflict?.proposal ?? null;
  const shown = keeping.halt.kind === "conflict" ? keeping.halt.shown : null;
  const by = actor(conflict?.mark.by ?? keeping.seen?.by ?? null);
  const unsure = keeping.saving || keeping.looking || !shown;
  const merge = (
    <button type="button" className="main" onClick={() => desk.choose("merge")} disabled={unsure || !proposal?.settled}>
      Merge both
    </button>
  );
  const answers = (
    <>
      <button type="button" onClick={() => desk.choose("reload")} disabled={keeping.saving}>
        Reload from disk
      </button>
      <button type="button" className="danger" onClick={() => desk.choose("overwrite")} disabled={unsure}>
        Overwrite anyway
      </button>
    </>
  );
  const means = (
    <>
      {merges(proposal)}Reload takes {by === "The agent" ? "the agent’s" : "the file’s"} version and sets yours aside, to get back. Overwrite makes yours the next revision;
      theirs stays in the history.
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
            {proposal?.settled ? merge : null}
            {conflict ? (
              <button type="button" onClick={() => setSeeing(true)}>
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
          <Comparison rivals={conflict} merged={proposal?.settled ? proposal : null} dark={dark} />
          {proposal && proposal.disputes.length > 0 ? <Disputes of={proposal.disputes} decide={desk.decide} /> : null}
          <p className="quiet means">{means}</p>
          <p className="actions">
            <button type="button" onClick={() => setSeeing(false)} autoFocus>
              Decide later
            </button>
            {answers}
            {proposal ? merge : null}
          </p>
        </Dialog>
      ) : null}
    </>
  );
}
