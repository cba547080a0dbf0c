// Pages that say why another page is not shown.
/** @jsxImportSource hono/jsx */
import { ButtonLink, Layout, LinkLine } from "../layout.tsx";
import { texts } from "../texts.ts";

interface MessageProps {
  message: string;
  /** The page with the form that was sent; undefined if none was. */
  form?: string | undefined;
}

export function MessagePage({ message, form }: MessageProps) {
  return (
    <Layout title={message}>
      <h1>{message}</h1>
      <LinkLine href={form ?? "/"}>{form ? texts.errors.back : texts.errors.home}</LinkLine>
    </Layout>
  );
}

/** @param page the one with the form that was sent */
export function OtherUserPage({ was, now, page }: { was: string; now: string; page: string }) {
  const text = texts.otherUser;
  return (
    <Layout title={text.title}>
      <h1>{text.title}</h1>
      <p>{text.about(was, now)}</p>
      <div class="bar">
        <ButtonLink kind="primary" href={page}>
          {text.goOn(now)}
        </ButtonLink>
        <ButtonLink href={`/sign-in?${new URLSearchParams({ next: page })}`}>{text.signIn(was)}</ButtonLink>
      </div>
    </Layout>
  );
}
