// Earlier revisions of one scene: look at them, bring one back.
import { useEffect, useRef, useState } from "react";
import { draw } from "../draw.ts";
import * as wire from "../wire.ts";
import { plural, size, when, writer } from "../words.ts";
import { Dialog } from "./frame.tsx";
import { Small } from "./picture.tsx";

type Picture = { readonly revision: number; readonly url: string | null; readonly words: string };

export function History({
  name,
  expected,
  waiting,
  dark,
  readOnly,
  close,
}: {
  name: string;
  /** The revision that a restore is made against. */
  expected: number;
  /** Why nothing can be brought back just now. */
  waiting: string | null;
  dark: boolean;
  readOnly: boolean;
  close: () => void;
}) {
  const [versions, setVersions] = useState<readonly wire.Version[] | null>(null);
  const [picture, setPicture] = useState<Picture | null>(null);
  const [wrong, setWrong] = useState<string | null>(null);
  const [busy, setBusy] = useState(false);
  const request = useRef({ revision: -1, id: "" });

  useEffect(() => {
    let over = false;
    wire.history(name).then(
      (found) => over || setVersions(found),
      (error: unknown) => over || setWrong(error instanceof wire.Refusal ? error.failure.message : String(error)),
    );
    return () => {
      over = true;
    };
  }, [name, expected]);

  useEffect(() => () => void (picture?.url && URL.revokeObjectURL(picture.url)), [picture]);

  const see = async (version: wire.Version): Promise<void> => {
    setWrong(null);
    if (picture?.revision === version.revision) {
      setPicture(null);
      return;
    }
    try {
      const opened = await wire.version(name, version.revision);
      const plate = await draw(opened.scene, dark, 1400);
      const url = plate && URL.createObjectURL(plate.blob);
      setPicture({ revision: version.revision, url, words: url ? "" : "This revision is empty." });
    } catch (error) {
      setPicture({ revision: version.revision, url: null, words: error instanceof Error ? error.message : String(error) });
    }
  };

  const bringBack = async (version: wire.Version): Promise<void> => {
    setBusy(true);
    setWrong(null);
    if (request.current.revision !== version.revision) request.current = { revision: version.revision, id: crypto.randomUUID() };
    try {
      await wire.restore(name, version.revision, expected, request.current.id);
      close();
    } catch (error) {
      const failure = error instanceof wire.Refusal ? error.failure : null;
      if (failure?.kind !== "offline" && failure?.kind !== "busy") request.current = { revision: -1, id: "" };
      setWrong(failure?.message ?? String(error));
    } finally {
      setBusy(false);
    }
  };

  return (
    <Dialog title={`History of ${name}`} onClose={close} className="history">
      <p className="quiet">Bringing a revision back makes a new one; nothing in between is lost.</p>
      {waiting ? (
        <p className="attention-words" role="status">
          {waiting}
        </p>
      ) : null}
      {wrong ? (
        <p className="wrong" role="alert">
          {wrong}
        </p>
      ) : null}
      {versions === null ? (
        wrong ? null : <p className="quiet">Looking…</p>
      ) : (
        <ol className="versions">
          {versions.map((version) => (
            <li key={version.revision} className={version.current ? "version current" : "version"}>
              <button type="button" className="plain see" aria-expanded={picture?.revision === version.revision} onClick={() => void see(version)} aria-label={`See revision ${version.revision}`}>
                <Small of={version} load={async () => (await wire.version(name, version.revision)).scene} />
              </button>
              <div className="version-facts">
                <span>
                  <strong>Revision {version.revision}</strong>
                  {version.current ? <span className="chip">current</span> : null}
                </span>
                <span className="quiet">
                  {[
                    version.savedBy ? writer(version.savedBy) : null,
                    version.savedAt ? when(version.savedAt) : null,
                    version.elementCount === null ? null : plural(version.elementCount, "element"),
                    version.byteLength === null ? null : size(version.byteLength),
                  ]
                    .filter(Boolean)
                    .join(" · ")}
                </span>
                <code className="quiet">{version.sha256.slice(0, 12)}</code>
              </div>
              {version.current || readOnly ? null : (
                <button type="button" disabled={busy || waiting !== null} onClick={() => void bringBack(version)} aria-label={`Bring back revision ${version.revision}`}>
                  Bring back
                </button>
              )}
              {picture?.revision === version.revision ? (
                <div className="picture">
                  {picture.url ? <img src={picture.url} alt={`Revision ${version.revision}`} /> : <p className="quiet">{picture.words}</p>}
                </div>
              ) : null}
            </li>
          ))}
        </ol>
      )}
      <p className="actions">
        <button type="button" onClick={close} autoFocus>
          Close
        </button>
      </p>
    </Dialog>
  );
}

