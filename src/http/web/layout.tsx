// The frame of every page, and parts that several pages have.
/** @jsxImportSource hono/jsx */
import type { Child } from "hono/jsx";
import { assets } from "./assets.ts";
import { texts } from "./texts.ts";

export type Section = keyof typeof texts.menu;

interface LayoutProps {
  title?: string;
  /** The section that is marked in the menu; without it there is no menu. */
  section?: Section | null;
  children?: Child;
}

export function Layout({ title, section = null, children }: LayoutProps) {
  return (
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>{title ? `${title} · ${texts.name}` : texts.name}</title>
        <link rel="icon" href={assets.icon.path} type="image/svg+xml" />
        <link rel="stylesheet" href={assets.style.path} />
        <script src={assets.script.path} defer />
      </head>
      <body>
        {section && <Menu section={section} />}
        <main>{children}</main>
      </body>
    </html>
  );
}

function Menu({ section }: { section: Section }) {
  return (
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
  );
}

/** A text with a button that copies it; the script shows the button. */
export function Copyable({ text }: { text: string }) {
  return (
    <span class="copyable">
      <code>{text}</code>{" "}
      <button type="button" hidden data-copy={text} data-done={texts.copied}>
        {texts.copy}
      </button>
    </span>
  );
}

/** A moment: UTC, and the visitor's zone and language by the script. @param ms Unix milliseconds */
export function Time({ ms, day = false }: { ms: number; day?: boolean }) {
  const iso = new Date(ms).toISOString();
  return (
    <time datetime={iso} data-day={day ? "" : undefined}>
      {day ? iso.slice(0, 10) : `${iso.slice(0, 16).replace("T", " ")} UTC`}
    </time>
  );
}

/** A remark above a page. */
export function Notice({ kind = "good", children }: { kind?: "good" | "danger"; children?: Child }) {
  return (
    <p class={`notice ${kind}`} role="status">
      {children}
    </p>
  );
}

/** A form that is one button. */
export function ActionButton({
  action,
  primary = false,
  children,
  ...fields
}: {
  action: string;
  primary?: boolean;
  children?: Child;
  [name: string]: unknown;
}) {
  return (
    <form method="post" action={action}>
      {Object.entries(fields).map(([name, value]) => (
        <input type="hidden" name={name} value={String(value)} />
      ))}
      <button type="submit" class={primary ? "primary" : undefined}>
        {children}
      </button>
    </form>
  );
}
