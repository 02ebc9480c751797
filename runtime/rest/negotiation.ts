/** Which media types a request sends and takes. The API speaks JSON; browsers get a page where there is one. */

interface MediaRange {
  readonly type: string;
  readonly quality: number;
}

function mediaRanges(accept: string): MediaRange[] {
  return accept.split(',').map(part => {
    const [type = '', ...parameters] = part.split(';').map(text => text.trim().toLowerCase());
    const quality = parameters.find(parameter => parameter.startsWith('q='));
    return { type, quality: quality === undefined ? 1 : Number(quality.slice(2)) };
  });
}

export function accepts(accept: string | undefined, mediaType: string): boolean {
  if (accept === undefined || accept.trim() === '') return true;
  const family = `${mediaType.split('/')[0]}/*`;
  return mediaRanges(accept).some(
    range => range.quality > 0 && (range.type === '*/*' || range.type === family || range.type === mediaType),
  );
}

/** Browsers name XHTML; tools that ask for text/html alone get the API's 406, as from Kafka Connect. */
export function isBrowser(accept: string | undefined): boolean {
  return accept !== undefined && mediaRanges(accept).some(range => range.type === 'application/xhtml+xml');
}

export function isJson(contentType: string): boolean {
  return contentType.split(';')[0]!.trim().toLowerCase() === 'application/json';
}
