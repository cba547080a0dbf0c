// The API reference at /docs, rendered from the OpenAPI document.
/** @jsxImportSource hono/jsx */
import type { Hono } from "hono";
import { raw } from "hono/html";
import { once } from "../../once.ts";
import type { HttpEnv } from "../env.ts";
import { readDocument } from "./api-document.ts";
import { assets } from "./assets.ts";
import { Layout } from "./layout.tsx";
import { Reference } from "./pages/docs.tsx";
import { show } from "./render.tsx";
import { texts } from "./texts.ts";

/** @param document gives the OpenAPI document */
export function serveDocs(http: Hono<HttpEnv>, document: () => object): void {
  // Strangers may open it, and rendering takes more than a millisecond.
  const reference = once(() => raw(String(<Reference document={readDocument(document())} />)));
  http.get("/docs", (c) =>
    show(
      c,
      <Layout title={texts.docs.title} scripts={[assets.tryIt]}>
        {reference()}
      </Layout>,
    ),
  );
}
