// Fields of forms, and what screen readers and password managers need to know of them.
/** @jsxImportSource hono/jsx */
import type { Child, JSX } from "hono/jsx";
import { useFrame } from "./frame.ts";
import { texts } from "./texts.ts";
import type { TypedField } from "./typed.ts";

const PROBLEM = "problem";

/** A form of a user's page: it says whose it is, for requireOwnForm(). */
export function UserForm({ children, ...attributes }: JSX.IntrinsicElements["form"]) {
  return (
    <form method="post" {...attributes}>
      <input type="hidden" name="user" value={useFrame().user} />
      {children}
    </form>
  );
}

/** Says above a form what was wrong with it. It is no status: the field that has the focus is described by it. */
export const Problem = ({ children }: { children?: Child }) =>
  children ? (
    <p class="notice danger" id={PROBLEM}>
      {children}
    </p>
  ) : null;

/** What screen readers say of a field: the problem, and its hints by their ids. */
export const describedBy = (problem: string | null | undefined, ...hints: string[]) =>
  [...(problem ? [PROBLEM] : []), ...hints].join(" ") || undefined;

/**
 * For the field that a problem is about: the cursor is there. Without a problem it says so: browsers call a required field
 * invalid while it is empty.
 */
export const fieldWith = (problem: string | null | undefined, ...hints: string[]) => ({
  "aria-describedby": describedBy(problem, ...hints),
  "aria-invalid": problem ? ("true" as const) : ("false" as const),
  autofocus: Boolean(problem),
});

/** The name of the user whose password is chosen, for password managers: they read no field of type "hidden". */
export const UserNameOf = ({ name }: { name: string }) => (
  <input name="name" value={name} autocomplete="username" readonly hidden />
);

/** What a field has at first: what was typed before the session ended, or else `value`. */
export const useTyped = (name: TypedField, value = "") => useFrame().typed[name] ?? value;

/** For what phones must not correct, and browsers not send to a spell checker: names, addresses, a password that is shown. */
export const VERBATIM = { autocapitalize: "none", autocorrect: "off", spellcheck: false } as const;

type FieldProps = JSX.IntrinsicElements["input"] & { name: string; label: string; children?: Child };

/** A field with its label, and what is below it. */
export const Field = ({ name, label, children, ...attributes }: FieldProps) => (
  <div class="field">
    <label for={name}>{label}</label>
    <input id={name} name={name} aria-invalid="false" {...attributes} />
    {children}
  </div>
);

/** The button that sends a form. */
export const Submit = ({ children }: { children?: Child }) => (
  <button type="submit" class="primary">
    {children}
  </button>
);

interface ChoiceProps {
  name: string;
  label: string;
  /** What no choice is called. */
  all: string;
  options: Map<string, string>;
  chosen: string | undefined;
}

/** Chooses one of several by which a list is filtered, or none. After the Back button it says how the list is filtered. */
export function Choice({ name, label, all, options, chosen }: ChoiceProps) {
  return (
    <select name={name} aria-label={label} autocomplete="off">
      <option value="">{all}</option>
      {[...options].map(([value, text]) => (
        <option value={value} selected={value === chosen}>
          {text}
        </option>
      ))}
    </select>
  );
}

interface NewPasswordProps {
  label: string;
  name: string;
  problem?: string | null | undefined;
}

/** The field of a new password, with the rule; the script shows a button that shows what is typed. */
export function NewPassword({ label, name, problem }: NewPasswordProps) {
  const text = texts.choosePassword;
  return (
    <div class="field">
      <label for={name} id={`${name}-label`}>
        {label}
      </label>
      <div class="beside">
        <input
          id={name}
          name={name}
          type="password"
          autocomplete="new-password"
          {...VERBATIM}
          minlength={8}
          maxlength={1000}
          required
          {...fieldWith(problem, `${name}-rule`)}
        />
        <button type="button" hidden data-reveal={name} data-done={text.hide} aria-describedby={`${name}-label`}>
          {text.show}
        </button>
      </div>
      <p class="small muted" id={`${name}-rule`}>
        {text.rule}
      </p>
    </div>
  );
}
