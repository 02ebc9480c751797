/** The DataView of the buffer asked for last: one buffer serves many records. */
export class ViewCache {
  #bytes: Buffer = Buffer.alloc(0);
  #view: DataView = new DataView(this.#bytes.buffer, 0, 0);

  of(bytes: Buffer): DataView {
    if (bytes !== this.#bytes) {
      this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
      this.#bytes = bytes;
    }
    return this.#view;
  }
}
