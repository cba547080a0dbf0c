// Making the first user, and choosing a password by a link.
/** @jsxImportSource hono/jsx */
import type { PasswordLink } from "../../../services/accounts/password-links.ts";
import { Field, fieldWith, NewPassword, Problem, Submit, UserNameOf, VERBATIM } from "../fields.tsx";
import { Layout } from "../layout.tsx";
import { texts } from "../texts.ts";

interface SetupProps {
  name?: string;
  problem?: string | null;
  /** What the problem is about. */
  field?: "name" | "password";
}

export function SetupPage({ name = "", problem = null, field = "name" }: SetupProps) {
  const text = texts.setup;
  const problems = { [field]: problem };
  return (
    <Layout title={text.title}>
      <h1>{text.title}</h1>
      <p>{text.about}</p>
      <Problem>{problem}</Problem>
      <form method="post">
        <Field
          name="name"
          label={texts.signIn.name}
          value={name}
          autocomplete="username"
          {...VERBATIM}
          maxlength={64}
          required
          {...fieldWith(problems.name)}
          autofocus={!problems.password}
        />
        <NewPassword label={text.password} name="password" problem={problems.password} />
        <Submit>{text.submit}</Submit>
      </form>
    </Layout>
  );
}

export function PasswordPage({ link, problem = null }: { link: PasswordLink; problem?: string | null }) {
  const text = texts.choosePassword;
  return (
    <Layout title={text.title}>
      <h1>{text.title}</h1>
      <p>{link.isFirst ? text.first(link.name) : text.again(link.name)}</p>
      <Problem>{problem}</Problem>
      <form method="post">
        <UserNameOf name={link.name} />
        <NewPassword label={text.password} name="password" problem={problem} />
        <Submit>{text.submit}</Submit>
      </form>
    </Layout>
  );
}
