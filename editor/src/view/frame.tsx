// What every view is put together from: links, dialogs, notices, whole-page words.
import { useEffect, useId, useRef, type MouseEvent, type ReactNode } from "react";
import { go } from "../address.ts";
import { choose, CHOICES, useChoice } from "../theme.ts";
import type { Failure } from "../wire.ts";

export function Link({ to, children, className, label, focus }: { to: string; children: ReactNode; className?: string; label?: string; focus?: string }) {
  const follow = (event: MouseEvent): void => {
    if (event.metaKey || event.ctrlKey || event.shiftKey || event.button !== 0) return;
    event.preventDefault();
    void go(to);
  };
  return (
    <a href={to} onClick={follow} className={className} aria-label={label} data-focus={focus}>
      {children}
    </a>
  );
}

const NAMES = { system: "System", light: "Light", dark: "Dark" } as const;

export function ThemeChoice() {
  const chosen = useChoice();
  return (
    <label className="theme">
      <span className="unseen">Theme</span>
      <select value={chosen} onChange={(event) => choose(event.target.value as typeof chosen)}>
        {CHOICES.map((choice) => (
          <option key={choice} value={choice}>
            {NAMES[choice]}
          </option>
        ))}
      </select>
    </label>
  );
}

/** A modal dialog: the browser keeps the focus in it, Escape closes it, and the focus goes back to where it was. */
export function Dialog({
  title,
  onClose,
  children,
  className,
  urgent,
}: {
  title: string;
  onClose: () => void;
  children: ReactNode;
  className?: string;
  urgent?: boolean;
}) {
  const box = useRef<HTMLDialogElement>(null);
  const heading = useId();
  const before = useRef<Element | null>(null);
  useEffect(() => {
    before.current = document.activeElement;
    box.current?.showModal();
    return () => {
      const back = before.current;
      if (back instanceof HTMLElement && back.isConnected) back.focus();
    };
  }, []);
  return (
    <dialog
      ref={box}
      className={`dialog ${className ?? ""}`}
      role={urgent ? "alertdialog" : undefined}
      aria-labelledby={heading}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
      onKeyDown={(event) => event.stopPropagation()}
    >
      <h2 id={heading}>{title}</h2>
      {children}
    </dialog>
  );
}

export function Notice({
  tone,
  children,
  actions,
  alert,
  picture,
}: {
  tone: "plain" | "attention" | "bad";
  children: ReactNode;
  picture?: ReactNode;
  actions?: ReactNode;
  alert?: boolean;
}) {
  return (
    <div className={`notice ${tone}`} role={alert ? "alert" : "status"}>
      {picture}
      <div className="words">{children}</div>
      {actions ? <div className="actions">{actions}</div> : null}
    </div>
  );
}

/** A page that is only words: something is not there, or not allowed, and what to do about it. */
export function Words({ title, children, actions }: { title: string; children: ReactNode; actions?: ReactNode }) {
  useEffect(() => {
    document.title = title;
  }, [title]);
  return (
    <main className="words-page">
      <h1>{title}</h1>
      {children}
      {actions ? <p className="actions">{actions}</p> : null}
    </main>
  );
}

/** The designed page for a failure that leaves nothing to show. */
export function Failed({ failure, name, again, history }: { failure: Failure; name?: string; again: () => void; history?: ReactNode }) {
  const retry = (
    <button type="button" onClick={again}>
      Try again
    </button>
  );
  const back = (
    <Link to="/" className="button">
      All scenes
    </Link>
  );
  switch (failure.kind) {
    case "offline":
      return (
        <Words title="The server is gone" actions={retry}>
          <p>
            Nothing answers at this address. Start it again with <code>countermark serve</code> and the same folder; what
            was not saved is kept in this browser and is offered when the scene opens.
          </p>
        </Words>
      );
    case "expired":
      return (
        <Words title="This session has expired" actions={retry}>
          <p>
            The server was started anew, or this window was opened without its start address. Open the address that{" "}
            <code>countermark serve</code> printed; what was not saved is kept in this browser.
          </p>
        </Words>
      );
    case "missing":
      return (
        <Words title="No such scene" actions={back}>
          <p>
            There is no scene named <strong>{name}</strong> in this folder. It may have been renamed or moved to the trash.
          </p>
        </Words>
      );
    case "corrupt":
      return (
        <Words title="This scene cannot be read" actions={<>{history}{retry}{back}</>}>
          <p>{failure.message}</p>
          <p>{failure.next ?? "Its file is left as it is. An earlier revision can be brought back from the history."}</p>
        </Words>
      );
    case "busy":
      return (
        <Words title="Another program is writing this scene" actions={<>{retry}{back}</>}>
          <p>It holds the scene’s lock. The page can be opened as soon as it has finished.</p>
        </Words>
      );
    default:
      return (
        <Words title="The server refused this" actions={<>{retry}{back}</>}>
          <p>{failure.message}</p>
          {failure.next ? <p>{failure.next}</p> : null}
        </Words>
      );
  }
}
