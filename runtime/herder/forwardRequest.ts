/** Thrown by a herder that cannot do what it is asked: the worker at `url` can. Whoever has the request sends it there. */
export class ForwardRequest extends Error {
  override readonly name: string = 'ForwardRequest';
  /** With a slash at its end. */
  readonly url: string;
  /** Aborted where it is known not to answer. */
  readonly signal: AbortSignal;

  constructor(url: string, signal: AbortSignal) {
    super(`the request is for the worker at ${url}`);
    this.url = url;
    this.signal = signal;
  }
}
