// The frame of every page, and parts that several pages have.
/** @jsxImportSource hono/jsx */
import type { Child, JSX } from "hono/jsx";
import type { ChangedBy } from "../../domain/history.ts";
import { deviceOfToken } from "../../services/devices/devices.ts";
import type { Frame } from "../env.ts";
import { type Asset, assets } from "./assets.ts";
import { UserForm } from "./fields.tsx";
import { EMPTY, useFrame } from "./frame.ts";
import { texts } from "./texts.ts";

type Section = keyof typeof texts.menu;

/** Parts of a title; empty ones are left out. */
export type Which = (string | number | false | null | undefined)[];

interface LayoutProps {
  title?: string;
  /** What tells it from others of this title: its place in a list, filters. */
  which?: Which;
  /** The section that is marked in the menu. */
  section?: Section | null;
  /** Those that only this page needs. */
  scripts?: Asset[];
  children?: Child;
}

export function Layout({ title, which = [], section = null, scripts = [], children }: LayoutProps) {
  const frame = useFrame();
  return (
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>{[title, ...which, texts.name].filter(Boolean).join(" · ")}</title>
        <link rel="icon" href={assets.icon.path} type="image/svg+xml" />
        <link rel="apple-touch-icon" href={assets.touchIcon.path} />
        <link rel="manifest" href={assets.manifest.path} />
        <link rel="stylesheet" href={assets.style.path} />
        {[assets.script, ...scripts].map(({ path }) => (
          <script src={path} defer />
        ))}
      </head>
      <body data-user={frame.user}>
        {frame !== EMPTY && <Menu section={section} />}
        <main id="main" tabindex={-1}>
          <Banner />
          {children}
        </main>
      </body>
    </html>
  );
}

/** Above everything, when an app removed most of a list. */
function Banner() {
  const text = texts.history;
  const { removals, devices, canWrite } = useFrame();
  return (
    <>
      {removals.map(({ by, from, to, ended_at, removed, of }) => (
        <section class="notice danger" aria-label={text.warning}>
          <p>
            <Named text={(name) => text.massRemoval(name, removed, of)} name={actorName(by, devices)} />{" "}
            <Time ms={ended_at} format="clock" />.
          </p>
          <div class="bar">
            <ButtonLink href={changesBy(by)}>{text.seeWhat}</ButtonLink>
            {canWrite && (
              <>
                <PutBack by={by} from={from} to={to} text={text.putThemBack} kind="primary" />
                <ActionButton action="/history/keep" to={to}>
                  {text.keep}
                </ActionButton>
              </>
            )}
          </div>
        </section>
      ))}
    </>
  );
}

/** Stands for the name in a text. */
const PLACE = "\ufffc";

/** A text with a name in it, whose letters don't mix with those around it if they run the other way. */
export function Named({ text, name }: { text: (name: string) => string; name: string }) {
  const [before, after] = text(PLACE).split(PLACE);
  return (
    <>
      {before}
      <bdi>{name}</bdi>
      {after}
    </>
  );
}

/** What somebody is called: the app's label and its device, or the command. */
function actorName({ kind, id, label, device }: ChangedBy, devices: Frame["devices"]): string {
  const { actors } = texts.history;
  const named = label && (actors.commands.get(label) ?? label);
  const name = kind === "page" ? actors.page : named || actors[kind];
  // A token's own device has no other name once it is forgotten.
  const isOwn = id !== null && device === deviceOfToken(id);
  const on = device && (devices.get(device)?.caption ?? (isOwn ? null : device));
  return on && !name.includes(on) ? actors.on(name, on) : name;
}

/** The same as a part of a page. */
export function ActorName({ by }: { by: ChangedBy }) {
  return <bdi>{actorName(by, useFrame().devices)}</bdi>;
}

/** What the history is filtered by for one app; empty for apps without any name. */
const keyOf = ({ id, label, device }: ChangedBy): string => id ?? device ?? label ?? "";

/** What apps are called, by what the history is filtered by. @param by the present filter, which is there in any case */
export function choicesOf(apps: ChangedBy[], by: string | undefined, devices: Frame["devices"]): Map<string, string> {
  const { token } = texts.history.actors;
  const names = new Map(apps.map((one) => [keyOf(one), one.id ? one.label || token : actorName(one, devices)]));
  names.delete("");
  if (by && !names.has(by)) names.set(by, by);
  return names;
}

/** The history of one app. */
function changesBy(changed: ChangedBy): string {
  const by = keyOf(changed);
  return by ? `/history?${new URLSearchParams({ by })}` : "/history";
}

interface PutBackProps {
  by: ChangedBy;
  from: number;
  to: number;
  /** The guid of the only podcast that is meant; all that the app removed without it. */
  podcast?: string;
  text: string;
  kind?: "primary";
  label?: string;
}

export function PutBack({ by: { kind, id, label, device }, from, to, text, ...button }: PutBackProps) {
  const by = JSON.stringify({ kind, id, label, device });
  return (
    <ActionButton action="/history/put-back" by={by} from={from} to={to} {...button}>
      {text}
    </ActionButton>
  );
}

function Menu({ section }: { section: Section | null }) {
  return (
    <>
      <a class="button skip" href="#main">
        {texts.skip}
      </a>
      <header>
        <nav aria-label={texts.name}>
          <a class="name" href="/podcasts">
            {texts.name}
          </a>
          {Object.entries(texts.menu).map(([name, text]) => (
            <a href={`/${name}`} aria-current={name === section ? "page" : undefined}>
              {text}
            </a>
          ))}
        </nav>
      </header>
    </>
  );
}

/**
 * A text with a button that copies it; the script shows the button.
 * @param of the id of what says what the text is, if there are several
 */
export function Copyable({ text, of }: { text: string; of?: string }) {
  return (
    <span class="copyable">
      <code>{text}</code>{" "}
      <button type="button" hidden data-copy={text} data-done={texts.copied} aria-live="polite" aria-describedby={of}>
        {texts.copy}
      </button>
    </span>
  );
}

/**
 * A moment: UTC, and the visitor's zone and language by the script.
 * @param ms Unix milliseconds
 * @param format of the script: how long ago, the day, or the day and the clock
 */
export function Time({ ms, format = "ago" }: { ms: number; format?: "ago" | "day" | "clock" }) {
  const iso = new Date(ms).toISOString();
  return (
    <time datetime={iso} data-format={format}>
      {format === "day" ? iso.slice(0, 10) : `${iso.slice(0, 16).replace("T", " ")} UTC`}
    </time>
  );
}

/** A paragraph that is a link. */
export const LinkLine = ({ href, children }: { href: string; children?: Child }) => (
  <p>
    <a href={href}>{children}</a>
  </p>
);

type ButtonLinkProps = JSX.IntrinsicElements["a"] & { kind?: "primary"; children?: Child };

/** A link that looks like a button. */
export const ButtonLink = ({ kind, children, ...attributes }: ButtonLinkProps) => (
  <a class={kind ? `button ${kind}` : "button"} {...attributes}>
    {children}
  </a>
);

/** Id of the notice's text, for what has the focus in its place. */
export const NOTICE = "notice";

/** Says above a page what a form has done. It has the focus: many screen readers don't announce a status that a page begins with. */
export const Notice = ({ focused = true, children }: { focused?: boolean; children?: Child }) =>
  children ? (
    <p class="notice good" role="status" aria-labelledby={NOTICE} tabindex={-1} autofocus={focused}>
      <span id={NOTICE}>{children}</span>
    </p>
  ) : null;

/** What a session by token can't do, and how to get a password. */
export function NeedsPassword({ children }: { children?: Child }) {
  return (
    <p class="muted">
      {children} {texts.signIn.noPassword}
    </p>
  );
}

/** A form that is one button. */
export function ActionButton({
  action,
  kind,
  label,
  of,
  autofocus = false,
  children,
  ...fields
}: {
  action: string;
  kind?: "primary" | "danger";
  /** What screen readers call it, if the button alone doesn't say of what it is. */
  label?: string;
  /** The id of what says of what it is, if several may have the same label. */
  of?: string;
  autofocus?: boolean;
  children?: Child;
  [name: string]: unknown;
}) {
  return (
    <UserForm action={action}>
      {Object.entries(fields).map(([name, value]) => (
        <input type="hidden" name={name} value={String(value)} />
      ))}
      <button type="submit" class={kind} aria-label={label} aria-describedby={of} autofocus={autofocus}>
        {children}
      </button>
    </UserForm>
  );
}
