package githubfake

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"sync"
)

// object is a JSON object. Its members are written in the order of their
// names; the server reads them into structs of its own.
type object = map[string]any

// API answers as GitHub does. Its zero value is not usable: see New.
// It may be used by several goroutines.
type API struct {
	mux *http.ServeMux

	mu    sync.Mutex
	world *world
}

// New returns an API over the data as it is generated. A POST to /reset
// forgets all that was written since.
func New() *API {
	a := &API{mux: http.NewServeMux(), world: newWorld()}
	a.mux.HandleFunc("POST /reset", func(w http.ResponseWriter, _ *http.Request) {
		a.world = newWorld()
		w.WriteHeader(http.StatusNoContent)
	})
	a.mux.HandleFunc("POST /api/graphql", a.graphql)
	for pattern, answer := range a.routes() {
		a.mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			status, value := answer(&request{Request: r, w: w})
			if text, ok := value.(string); ok {
				w.Header().Set("Content-Type", "text/plain; charset=utf-8")
				w.WriteHeader(status)
				fmt.Fprint(w, text)
				return
			}
			send(w, status, value)
		})
	}
	a.mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) { send(w, notFound, missing) })
	return a
}

const notFound = http.StatusNotFound

var missing = object{"message": "Not Found", "documentation_url": "https://docs.github.com/rest", "status": "404"}

// ServeHTTP answers one request at a time.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.mux.ServeHTTP(w, r)
}

// An answer makes the status and the body of one route: a string is sent as
// text, anything else as JSON.
type answer func(*request) (int, any)

func send(w http.ResponseWriter, status int, value any) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.Header().Set("X-RateLimit-Limit", "5000")
	w.Header().Set("X-RateLimit-Remaining", "4987")
	w.WriteHeader(status)
	if err := json.NewEncoder(w).Encode(value); err != nil {
		panic(fmt.Sprintf("githubfake: a value that is not JSON: %v", err))
	}
}

// request is an HTTP request with what routes ask of it.
type request struct {
	*http.Request
	w http.ResponseWriter
}

// number is a part of the path as a number; -1, which is nothing's number,
// where it is none.
func (r *request) number(name string) int {
	n, err := strconv.Atoi(r.PathValue(name))
	if err != nil {
		return -1
	}
	return n
}

// repo is the full name of the repository in the path.
func (r *request) repo() string { return r.PathValue("owner") + "/" + r.PathValue("repo") }

// body reads what was sent; nil if that is no JSON object.
func (r *request) body() object {
	var sent object
	if err := json.NewDecoder(r.Body).Decode(&sent); err != nil {
		return nil
	}
	return sent
}

// page cuts the page out of all that the query asks for, and links to the
// next as GitHub does, in a header.
func page[T any](r *request, all []T) []T {
	query := r.URL.Query()
	size, from := 30, 1
	if n, err := strconv.Atoi(query.Get("per_page")); err == nil && n > 0 {
		size = min(n, 100)
	}
	if n, err := strconv.Atoi(query.Get("page")); err == nil && n > 0 {
		from = n
	}
	start := min((from-1)*size, len(all))
	end := min(start+size, len(all))
	if end < len(all) {
		query.Set("page", strconv.Itoa(from+1))
		r.w.Header().Set("Link", fmt.Sprintf(`<http://%s%s?%s>; rel="next"`, r.Host, r.URL.Path, query.Encode()))
	}
	return all[start:end:end]
}
