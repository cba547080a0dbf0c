// Pages that say why another page is not shown.
/** @jsxImportSource hono/jsx */
import { Layout, type Section } from "../layout.tsx";
import { texts } from "../texts.ts";

export function MessagePage({ message, section = null }: { message: string; section?: Section | null }) {
  return (
    <Layout title={message} section={section}>
      <h1>{message}</h1>
      <p>
        <a href="/">{texts.errors.home}</a>
      </p>
    </Layout>
  );
}
