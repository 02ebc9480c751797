/** SQL text as tokens. What is inside of executable comments (those that begin with an exclamation mark, or M and one in MariaDB) counts; other comments do not. */

export interface Token {
  /** `word`: an unquoted name or keyword; `name`: one in backticks; `text`: a string literal. */
  readonly kind: 'word' | 'name' | 'text' | 'number' | 'symbol';
  /** Without quotes; the contents of a string as they are written. */
  readonly text: string;
  readonly start: number;
  readonly end: number;
}

const SPACE = /(?:\s+|--(?=[\s]|$)[^\n]*|#[^\n]*|\/\*(?!M?!)[\s\S]*?\*\/|\/\*M?!\d*|\*\/)+/y;
const TOKEN =
  /`((?:[^`]|``)*)`|'((?:[^'\\]|''|\\[\s\S])*)'|"((?:[^"\\]|""|\\[\s\S])*)"|(\d+(?:\.\d*)?(?:[eE][-+]?\d+)?(?![\w$])|\.\d+|0x[0-9a-fA-F]+\b|0b[01]+\b)|([\w$\u0080-\uffff]+)|([\s\S])/y;

/** Throws a SyntaxError for a quote that does not end. */
export function tokensOf(sql: string): Token[] {
  const tokens: Token[] = [];
  let at = 0;
  for (;;) {
    SPACE.lastIndex = at;
    if (SPACE.test(sql)) at = SPACE.lastIndex;
    if (at >= sql.length) return tokens;
    TOKEN.lastIndex = at;
    const m = TOKEN.exec(sql)!;
    const end = TOKEN.lastIndex;
    const [, name, single, double, number, word, symbol] = m;
    if (symbol !== undefined && '`\'"'.includes(symbol)) throw new SyntaxError(`the quote ${symbol} does not end`);
    const make = (kind: Token['kind'], text: string): void => {
      tokens.push({ kind, text, start: at, end });
    };
    if (name !== undefined) make('name', name.replaceAll('``', '`'));
    else if (single !== undefined) make('text', single);
    else if (double !== undefined) make('text', double);
    else if (number !== undefined) make('number', number);
    else if (word !== undefined) make('word', word);
    else make('symbol', symbol!);
    at = end;
  }
}

const ESCAPES: Readonly<Record<string, string>> = { n: '\n', t: '\t', r: '\r', b: '\b', 0: '\0', Z: '\x1a' };

/** The value of a string literal's contents. */
export const unescaped = (contents: string): string =>
  contents.replace(/''|""|\\([\s\S])/g, (pair, c: string | undefined) =>
    c === undefined ? pair[0]! : (ESCAPES[c] ?? c),
  );

/** A place in the tokens of a statement. What does not fit is a SyntaxError that says where. */
export class TokenCursor {
  readonly sql: string;
  private readonly tokens: readonly Token[];
  private at = 0;

  constructor(sql: string) {
    this.sql = sql;
    this.tokens = tokensOf(sql);
  }

  get isAtEnd(): boolean {
    return this.at >= this.tokens.length || (this.at === this.tokens.length - 1 && this.isSymbol(';'));
  }

  get position(): number {
    return this.at;
  }

  set position(at: number) {
    this.at = at;
  }

  peek(ahead = 0): Token | null {
    return this.tokens[this.at + ahead] ?? null;
  }

  next(): Token {
    const token = this.tokens[this.at++];
    if (token === undefined) throw new SyntaxError('it ends too soon');
    return token;
  }

  isWord(word: string, ahead = 0): boolean {
    const token = this.peek(ahead);
    return token?.kind === 'word' && token.text.toUpperCase() === word;
  }

  isSymbol(symbol: string, ahead = 0): boolean {
    const token = this.peek(ahead);
    return token?.kind === 'symbol' && token.text === symbol;
  }

  /** Takes the words if they all come next. */
  take(...words: readonly string[]): boolean {
    if (!words.every((word, i) => this.isWord(word, i))) return false;
    this.at += words.length;
    return true;
  }

  takeSymbol(symbol: string): boolean {
    if (!this.isSymbol(symbol)) return false;
    this.at++;
    return true;
  }

  expect(...words: readonly string[]): void {
    if (!this.take(...words)) throw this.unexpected(words.join(' '));
  }

  expectSymbol(symbol: string): void {
    if (!this.takeSymbol(symbol)) throw this.unexpected(`"${symbol}"`);
  }

  /** A name, quoted or not; under ANSI_QUOTES in double quotes. */
  name(): string {
    const token = this.next();
    if (token.kind === 'name' || token.kind === 'word') return token.text;
    if (token.kind === 'text') return token.text.replaceAll('""', '"');
    this.at--;
    throw this.unexpected('a name');
  }

  /** The contents of a string literal as written; literals side by side are one. */
  text(): string {
    const token = this.next();
    if (token.kind !== 'text') {
      this.at--;
      throw this.unexpected('a text');
    }
    let { text } = token;
    while (this.peek()?.kind === 'text') text += this.next().text;
    return text;
  }

  number(): number {
    const token = this.next();
    if (token.kind === 'number') return Number(token.text);
    this.at--;
    throw this.unexpected('a number');
  }

  /** Steps over one token, or over a pair of parentheses with all that is inside. */
  skip(): void {
    if (!this.takeSymbol('(')) {
      this.next();
      return;
    }
    for (let depth = 1; depth > 0; ) {
      if (this.takeSymbol('(')) depth++;
      else if (this.takeSymbol(')')) depth--;
      else this.next();
    }
  }

  unexpected(wanted: string): SyntaxError {
    const token = this.peek();
    const found = token === null ? 'its end' : `"${this.sql.slice(token.start, token.start + 40)}"`;
    return new SyntaxError(`${wanted} is expected at ${found}`);
  }
}
