// Connecting an app: which one, then its steps, and a code that opens them on a phone.
/** @jsxImportSource hono/jsx */
import { raw } from "hono/html";
import { renderSVG } from "uqr";
import type { ConnectValues } from "../../../services/accounts/connect-links.ts";
import { type AppKind, hasLogin, isForComputers, stepsOf } from "../connect-steps.ts";
import { Field, Submit, UserForm, useTyped } from "../fields.tsx";
import { ButtonLink, Copyable, Layout, LinkLine } from "../layout.tsx";
import { texts } from "../texts.ts";

const text = texts.connect;

/** @param noPhone why no phone reaches the server; null if phones do */
export function ChooseAppPage({ noPhone }: { noPhone: string | null }) {
  return (
    <Layout title={text.title} section="apps">
      <h1>{text.title}</h1>
      {noPhone && <p class="notice">{noPhone}</p>}
      <p>{text.choose}</p>
      <ul class="rows links">
        {Object.entries(text.apps).map(([kind, name]) => (
          <li>
            <a href={`/connect?app=${kind}`}>{name}</a>
          </li>
        ))}
      </ul>
      <LinkLine href="/apps">{texts.cancel}</LinkLine>
    </Layout>
  );
}

interface AskDeviceProps {
  kind: AppKind;
  /** Makes the form's effect happen once. */
  nonce: string;
}

/** Before a token is made for an app. */
export function AskDevicePage({ kind, nonce }: AskDeviceProps) {
  return (
    <Layout title={text.done(kind)} section="apps">
      <h1>{text.done(kind)}</h1>
      <p class="muted">{text.token}</p>
      <UserForm action="/connect">
        <input type="hidden" name="nonce" value={nonce} />
        <input type="hidden" name="app" value={kind} />
        <Field name="device" label={text.device} value={useTyped("device")} maxlength={60} autofocus />
        <Submit>{text.submit}</Submit> <ButtonLink href="/connect">{texts.cancel}</ButtonLink>
      </UserForm>
    </Layout>
  );
}

interface LoginProps {
  kind: AppKind;
  server: string;
  /** Opens the steps on a phone; null on the phone itself, and if no phone reaches the server. */
  link: string | null;
  noPhone: string | null;
}

/** The steps of an app that needs no token. */
export function LoginPage({ kind, server, link, noPhone }: LoginProps) {
  return (
    <Layout title={text.done(kind)} section="apps">
      <h1>{text.done(kind)}</h1>
      <p class="muted">{text.noTyping}</p>
      {noPhone && <p class="notice">{noPhone}</p>}
      {link && <Code link={link} about={text.scanSteps} />}
      {link && <h2>{text.steps}</h2>}
      <Steps kind={kind} values={{ server }} />
      <LinkLine href={`/connect?app=${kind}&by=token`}>{text.byToken}</LinkLine>
      <LinkLine href="/connect">{text.anotherApp}</LinkLine>
    </Layout>
  );
}

/** An app's steps for strangers. */
export function GuidePage({ kind, server }: { kind: AppKind; server: string }) {
  return (
    <Layout title={text.done(kind)}>
      <h1>{text.done(kind)}</h1>
      {hasLogin(kind) && <p class="muted">{text.noTyping}</p>}
      <Steps kind={kind} values={{ server }} />
      <LinkLine href="/connect">{text.again}</LinkLine>
    </Layout>
  );
}

interface ConnectedProps {
  kind: AppKind;
  values: ConnectValues;
  /** Opens these values on a phone; null on the phone itself, and if no phone reaches the server. */
  link: string | null;
  noPhone: string | null;
  /** True for the user who is signed in. */
  isOwn: boolean;
}

export function ConnectedPage({ kind, values, link, noPhone, isOwn }: ConnectedProps) {
  const codeFirst = link !== null && !isForComputers(kind);
  return (
    <Layout title={text.done(kind)} section={isOwn ? "apps" : null}>
      <h1>{text.done(kind)}</h1>
      <p class="muted">{text.once}</p>
      {codeFirst && <ValueCodes link={link} values={values} />}
      {codeFirst && <h2>{text.steps}</h2>}
      <Steps kind={kind} values={values} byToken />
      {noPhone && !isForComputers(kind) && <p class="notice">{noPhone}</p>}
      {link && !codeFirst && (
        <details class="more">
          <summary>{text.onPhone}</summary>
          <ValueCodes link={link} values={values} />
        </details>
      )}
      {isOwn && (
        <p>
          <ButtonLink href="/apps">{text.back}</ButtonLink>
        </p>
      )}
    </Layout>
  );
}

function ValueCodes({ link, values }: { link: string; values: ConnectValues }) {
  return (
    <>
      <Code link={link} about={text.scanOnce} />
      <details class="more">
        <summary>{text.scanValues}</summary>
        <Drawing of={`${values.server}\n${values.user}\n${values.token}`} name={text.scanValues} />
      </details>
    </>
  );
}

function Code({ link, about }: { link: string; about: string }) {
  return (
    <>
      <h2>{text.scan}</h2>
      <p class="muted">{about}</p>
      <Drawing of={link} name={text.scan} />
      <p>
        <Copyable text={link} />
      </p>
    </>
  );
}

/** The quiet zone of a QR code, in modules (ISO/IEC 18004). */
const QUIET = 4;

const Drawing = ({ of, name }: { of: string; name: string }) => (
  <div class="qr" role="img" aria-label={name}>
    {raw(renderSVG(of, { border: QUIET }))}
  </div>
);

interface StepsProps {
  kind: AppKind;
  values: { server: string; user?: string; token?: string };
  byToken?: boolean;
}

function Steps({ kind, values, byToken = false }: StepsProps) {
  const missing = { user: text.yourName, token: text.yourToken };
  return (
    <ol class="steps">
      {stepsOf(kind, byToken).map(({ text: step, fields = {} }) => (
        <li>
          {step}
          {Object.entries(fields).map(([name, field]) => {
            const value = values[field];
            return (
              <div class="value">
                <span class="muted" id={field}>
                  {name}
                </span>{" "}
                {value === undefined ? (
                  missing[field === "user" ? "user" : "token"]
                ) : (
                  <Copyable text={value} of={field} />
                )}
              </div>
            );
          })}
        </li>
      ))}
    </ol>
  );
}

/** The page behind the code on the phone; a button takes the values. */
export function OpenLinkPage({ known }: { known: boolean }) {
  return (
    <Layout title={text.title}>
      <h1>{text.title}</h1>
      {known ? (
        <>
          <p>{text.openOnce}</p>
          <form method="post">
            <Submit>{text.open}</Submit>
          </form>
        </>
      ) : (
        <>
          <p>{text.expired}</p>
          <LinkLine href="/connect">{text.again}</LinkLine>
        </>
      )}
    </Layout>
  );
}
