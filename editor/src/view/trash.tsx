// The way back out of the trash: at once, as long as its line stands there, or from the list of what lies in it.
import { useEffect, useRef, useState } from "react";
import * as wire from "../wire.ts";
import { misnamed, plural, when, writer } from "../words.ts";
import { Ask, failureOf } from "./ask.tsx";
import { Dialog, Notice } from "./frame.tsx";

/** What was just put into the trash. */
export type Put = { readonly name: string; readonly sha256: string };

/** Bring one back; a request without an answer is asked again as it was. */
function useBack(done: (name: string) => void): { back: (entry: wire.Trashed) => Promise<void>; wrong: string | null; busy: boolean } {
  const [wrong, setWrong] = useState<string | null>(null);
  const [busy, setBusy] = useState(false);
  const open = useRef<{ entry: string; asked: wire.Asked } | null>(null);
  const back = async (entry: wire.Trashed): Promise<void> => {
    const asked = wire.asking(open.current?.entry === entry.id ? open.current.asked : null, "", entry.revision);
    setBusy(true);
    setWrong(null);
    try {
      done(await wire.untrash(entry.id, asked));
    } catch (error) {
      const failure = failureOf(error);
      const still = wire.stillOpen(asked, failure.kind);
      open.current = still && { entry: entry.id, asked: still };
      setWrong(failure.message);
    } finally {
      setBusy(false);
    }
  };
  return { back, wrong, busy };
}

export function Undo({ put, done, close }: { put: Put; done: (name: string) => void; close: () => void }) {
  const { back, wrong, busy } = useBack(done);
  const [gone, setGone] = useState<string | null>(null);
  const button = useRef<HTMLButtonElement>(null);
  // What the keyboard stood on went into the trash with its scene.
  useEffect(() => button.current?.focus(), [put]);
  const undo = async (): Promise<void> => {
    try {
      const entry = (await wire.trashed()).find((one) => one.name === put.name && one.sha256 === put.sha256);
      if (entry) await back(entry);
      else setGone("It does not lie in the trash any more.");
    } catch (error) {
      setGone(failureOf(error).message);
    }
  };
  return (
    <Notice
      tone="plain"
      actions={
        <>
          <button type="button" ref={button} disabled={busy} onClick={() => void undo()}>
            Undo
          </button>
          <button type="button" className="plain" onClick={close} aria-label="Dismiss">
            ×
          </button>
        </>
      }
    >
      <strong>{put.name}</strong> is in the trash. {wrong ?? gone ? <span className="wrong">{wrong ?? gone}</span> : null}
    </Notice>
  );
}

export function Bin({
  lying,
  readOnly,
  close,
  done,
  look,
}: {
  lying: readonly wire.Trashed[];
  readOnly: boolean;
  close: () => void;
  done: (name: string) => void;
  look: () => void;
}) {
  const { back, wrong, busy } = useBack(done);
  const [naming, setNaming] = useState<wire.Trashed | null>(null);
  const named = useRef("");
  return (
    <Dialog title="Trash" onClose={close} className="bin">
      <p className="quiet">Each lies here with its history, in the folder, until you erase it there.</p>
      {wrong ? (
        <p className="wrong" role="alert">
          {wrong}
        </p>
      ) : null}
      <ul className="lying">
        {lying.map((entry) => (
          <li key={entry.id}>
            <span className="lying-facts">
              <strong>{entry.name}</strong>
              <span className="quiet">
                {writer(entry.by)}, {when(entry.at)} · {plural(entry.elementCount, "element")}
              </span>
            </span>
            {readOnly ? null : entry.nameFree ? (
              <button type="button" disabled={busy} onClick={() => void back(entry)} aria-label={`Put back ${entry.name}, ${when(entry.at)}`}>
                Put back
              </button>
            ) : (
              <button type="button" onClick={() => setNaming(entry)} aria-label={`Put back as… another name: ${entry.name}, ${when(entry.at)}`}>
                Put back as…
              </button>
            )}
          </li>
        ))}
      </ul>
      <p className="actions">
        <button type="button" onClick={close} autoFocus>
          Close
        </button>
      </p>
      {naming ? (
        <Ask
          title={`Put ${naming.name} back under another name`}
          words={`Another scene is called ${naming.name} now.`}
          expected={naming.revision}
          field={{ label: "New name", begin: `${naming.name}-2`.slice(-64), wrong: misnamed }}
          send={async (asked) => {
            named.current = await wire.untrash(naming.id, asked);
          }}
          yes="Put back"
          no="Cancel"
          close={() => setNaming(null)}
          done={(sent) => (sent ? done(named.current) : look())}
        />
      ) : null}
    </Dialog>
  );
}
