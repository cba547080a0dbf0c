// Signing in; also what a visitor without an account sees.
/** @jsxImportSource hono/jsx */
import { raw } from "hono/html";
import { ICON } from "../assets.ts";
import { describedBy, Field, Problem, Submit, VERBATIM } from "../fields.tsx";
import { Copyable, Layout, LinkLine } from "../layout.tsx";
import { texts } from "../texts.ts";

const Name = () => (
  <div class="bar">
    <span class="logo">{raw(ICON)}</span>
    <h1>{texts.name}</h1>
  </div>
);

/** While there is no user, in place of signing in. */
export function NoUserPage() {
  const { signIn, setup } = texts;
  return (
    <Layout title={signIn.title}>
      <Name />
      <p>{texts.tagline}</p>
      <p class="notice good">{setup.none}</p>
      <LinkLine href="/docs">{texts.docs.title}</LinkLine>
    </Layout>
  );
}

interface SignInProps {
  /** The URL that apps connect to. */
  url: string;
  /** Why no phone reaches it; null if phones do. */
  noPhone: string | null;
  /** Where to go afterwards. */
  next: string;
  /** The app that waits for its user to sign in; null if none does. */
  waiting: string | null;
  name?: string;
  problem?: string | null;
  /** Whether there was a session, in place of which another tab may have begun one. */
  ended?: boolean;
}

export function SignInPage(props: SignInProps) {
  const { url, noPhone, next, waiting, name = "", problem = null, ended = false } = props;
  const { signIn } = texts;
  return (
    <Layout title={signIn.title}>
      <Name />
      {waiting ? <p class="notice">{signIn.waiting(waiting)}</p> : <p>{texts.tagline}</p>}
      <Problem>{problem}</Problem>
      {ended && <LinkLine href={next}>{signIn.otherTab}</LinkLine>}
      <form method="post" action="/sign-in">
        <input type="hidden" name="next" value={next} />
        <Field
          name="name"
          label={signIn.name}
          value={name}
          autocomplete="username"
          {...VERBATIM}
          required
          aria-describedby={describedBy(problem)}
          autofocus={name === ""}
        />
        <Field
          name="password"
          label={signIn.password}
          type="password"
          autocomplete="current-password"
          required
          aria-describedby={describedBy(problem)}
          autofocus={name !== ""}
        />
        <Submit>{signIn.submit}</Submit>
      </form>
      <h2>{signIn.appsConnectTo}</h2>
      <p>
        <Copyable text={url} />
      </p>
      {noPhone && <p class="muted">{noPhone}</p>}
      <p class="muted">{signIn.noAccount}</p>
      <LinkLine href="/docs">{texts.docs.title}</LinkLine>
    </Layout>
  );
}
