// Allowing an app that started a login flow.
/** @jsxImportSource hono/jsx */
import type { WaitingApp } from "../../../services/accounts/login-flow.ts";
import { useFrame } from "../frame.ts";
import { ActionButton, Layout, LinkLine, NeedsPassword } from "../layout.tsx";
import { texts } from "../texts.ts";

interface AllowProps {
  app: WaitingApp;
  /** This page's path. */
  path: string;
}

export function AllowPage({ app: { label, address }, path }: AllowProps) {
  const text = texts.allow;
  const { user, byPassword } = useFrame();
  return (
    <Layout title={text.title}>
      <h1>{text.ask(label, user)}</h1>
      <p>{text.may}</p>
      <p class="muted">{text.mayNot}</p>
      <p>
        {text.from}: <code>{address}</code>
      </p>
      <p>{text.check}</p>
      {byPassword ? (
        <div class="bar">
          <ActionButton action={path} kind="primary">
            {text.allow}
          </ActionButton>
          <ActionButton action={`${path}/deny`}>{text.deny}</ActionButton>
        </div>
      ) : (
        <>
          <NeedsPassword>{text.needsPassword}</NeedsPassword>
          <LinkLine href={`/sign-in?${new URLSearchParams({ next: path })}`}>{text.signIn}</LinkLine>
        </>
      )}
    </Layout>
  );
}
