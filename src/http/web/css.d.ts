// Stylesheets are embedded as text.
declare module "*.css" {
  const text: string;
  export default text;
}
