// A question about one scene, asked once: the same request is sent again where its outcome is unknown, and a refused one
// is asked anew on the scene as it is now.
import { useRef, useState, type FormEvent, type ReactNode } from "react";
import * as wire from "../wire.ts";
import { Dialog } from "./frame.tsx";

export const failureOf = (error: unknown): wire.Failure =>
  error instanceof wire.Refusal ? error.failure : { ...wire.UNREACHABLE, kind: "refused", message: String(error), next: null };

type Field = { readonly label: string; readonly begin: string; readonly wrong: (to: string) => string | null };

export function Ask({
  title,
  words,
  expected,
  field,
  send,
  yes,
  no,
  danger,
  close,
  done,
}: {
  title: string;
  words: ReactNode;
  /** The revision that the answer stands on. */
  expected: number;
  /** What is asked for beside a yes. */
  field?: Field;
  send: (asked: wire.Asked) => Promise<void>;
  yes: string;
  no: string;
  danger?: boolean;
  close: () => void;
  /** Called after every answer of the server, that what is shown be true again. */
  done: (sent: boolean) => void;
}) {
  const [to, setTo] = useState(field?.begin ?? "");
  const [wrong, setWrong] = useState<string | null>(null);
  const [busy, setBusy] = useState(false);
  const open = useRef<wire.Asked | null>(null);
  const submit = async (event: FormEvent): Promise<void> => {
    event.preventDefault();
    const bad = field?.wrong(to) ?? null;
    setWrong(bad);
    if (bad || busy) return;
    const asked = wire.asking(open.current, to, expected);
    setBusy(true);
    try {
      await send(asked);
      close();
      done(true);
    } catch (error) {
      const failure = failureOf(error);
      setWrong(failure.next ? `${failure.message} ${failure.next}` : failure.message);
      open.current = wire.stillOpen(asked, failure.kind);
      setBusy(false);
      done(false);
    }
  };
  const stay = (
    <button type="button" onClick={close} autoFocus={danger ?? false}>
      {no}
    </button>
  );
  return (
    <Dialog title={title} onClose={close} urgent={danger ?? false}>
      <form onSubmit={(event) => void submit(event)} noValidate>
        {field ? (
          <>
            <label htmlFor="asked-name">{field.label}</label>
            <input
              id="asked-name"
              value={to}
              autoFocus
              autoComplete="off"
              autoCapitalize="none"
              spellCheck={false}
              aria-invalid={wrong !== null}
              aria-describedby="asked-words"
              onChange={(event) => {
                setTo(event.target.value);
                setWrong(null);
              }}
              onFocus={(event) => event.target.select()}
            />
          </>
        ) : null}
        {field && wrong ? null : <p className={field ? "quiet" : ""} id={wrong ? undefined : "asked-words"}>{words}</p>}
        {wrong ? (
          <p className="wrong" role="alert" id="asked-words">
            {wrong}
          </p>
        ) : null}
        <p className="actions">
          {danger ? stay : null}
          <button type="submit" className={danger ? "danger" : "main"} disabled={busy}>
            {yes}
          </button>
          {danger ? null : stay}
        </p>
      </form>
    </Dialog>
  );
}
