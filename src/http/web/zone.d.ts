// The script is embedded as text.
declare const text: string;
export default text;
