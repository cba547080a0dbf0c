// The account: password, sessions, data.
/** @jsxImportSource hono/jsx */

import { VERSION } from "../../../version.ts";
import { Field, fieldWith, NewPassword, Problem, UserForm, UserNameOf } from "../fields.tsx";
import { useFrame } from "../frame.ts";
import { ActionButton, ButtonLink, Layout, NeedsPassword, Notice } from "../layout.tsx";
import { texts } from "../texts.ts";

interface AccountProps {
  notice?: string | null;
  problem?: string | null;
  /** What the problem is about. */
  field?: PasswordField;
}

type PasswordField = "present" | "changed";

export function AccountPage({ notice = null, problem = null, field = "present" }: AccountProps) {
  const { account } = texts;
  const { user, byPassword } = useFrame();
  return (
    <Layout title={account.title} section="account">
      <h1>{account.title}</h1>
      <Notice>{notice}</Notice>
      <Problem>{problem}</Problem>
      <p>
        {account.signedInAs} <strong>{user}</strong>
      </p>
      <ActionButton action="/sign-out">{account.signOut}</ActionButton>
      <h2>{account.password}</h2>
      {byPassword ? (
        <PasswordAndSessions name={user} problems={{ [field]: problem }} />
      ) : (
        <NeedsPassword>{account.needsPassword}</NeedsPassword>
      )}
      <h2>{account.data}</h2>
      <p>
        <ButtonLink href="/account/podkeep.json">{account.download}</ButtonLink>{" "}
        <ButtonLink href="/podcasts/podkeep.opml">{texts.podcasts.exportOpml}</ButtonLink>{" "}
        <ButtonLink href="/account/move-in">{texts.moveIn.title}</ButtonLink>
      </p>
      <h2>{account.guides}</h2>
      <ul class="plain">
        {Object.entries(texts.connect.apps).map(([kind, name]) => (
          <li>
            <a href={`/connect/${kind}`}>{name}</a>
          </li>
        ))}
      </ul>
      <p class="small muted">
        {texts.name} {VERSION} · <a href="/docs">{texts.docs.title}</a>
      </p>
    </Layout>
  );
}

interface PasswordsProps {
  name: string;
  problems: { [field in PasswordField]?: string | null };
}

/** What a session by token may not change. */
function PasswordAndSessions({ name, problems }: PasswordsProps) {
  const { account } = texts;
  return (
    <>
      <UserForm action="/account/password">
        <UserNameOf name={name} />
        <Field
          name="present"
          label={account.present}
          type="password"
          autocomplete="current-password"
          required
          {...fieldWith(problems.present)}
        />
        <NewPassword label={account.changed} name="changed" problem={problems.changed} />
        <button type="submit">{account.change}</button>
      </UserForm>
      <h2>{account.sessions}</h2>
      <p class="muted">{account.everywhere}</p>
      <ActionButton action="/account/sign-out-everywhere">{account.signOutEverywhere}</ActionButton>
    </>
  );
}
