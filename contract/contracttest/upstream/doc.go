// Package upstream is a fake service for the suite of operations: it keeps an
// append-only log of the effects that it had, takes or ignores keys, serves
// pages of records, and breaks in the ways that a Fault scripts. It answers
// over loopback HTTP and, with the same code, within the process.
//
// Its API:
//
//	POST   /items               {name, account, …}: makes an item
//	GET    /items?ref=R         the items that were made with the header X-Ref: R
//	GET    /items/{id}          one item, with its revision
//	PUT    /items/{id}          {value}; with If-Match: REVISION refuses a stale one with 412
//	DELETE /items/{id}
//	POST   /teams/{team}/members  {member}: adds one
//	GET    /teams/{team}/members?ref=R
//	GET    /records/{collection}?cursor=C   {"items": […], "next": …}
//
// A mutation with the header Idempotency-Key is done once for as long as the
// retention lasts, and answered the same way again. One with X-Ref is done
// each time; the reference only makes it findable.
package upstream
