// The frame of every page.
import type { Child } from "hono/jsx";
import { texts } from "./texts.ts";

export function Layout({ title, children }: { title?: string; children?: Child }) {
  return (
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>{title ? `${title} · ${texts.name}` : texts.name}</title>
        <link rel="stylesheet" href="/assets/style.css" />
      </head>
      <body>
        <main>{children}</main>
      </body>
    </html>
  );
}
