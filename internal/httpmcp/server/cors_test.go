package server_test

import (
	"testing"

	"github.com/spillway-mcp/spillway/internal/httpmcp/server"
)

// A page of an origin that is configured can use the endpoint from a browser;
// no other page can read anything.
func TestPagesOfConfiguredOrigins(t *testing.T) {
	e := start(t, &core{}, server.Options{Auth: byHeader{}, Origins: []string{"https://App.example.com"}})
	question := func(origin string) head {
		return head{"Origin", origin, "Access-Control-Request-Method", "POST", "Access-Control-Request-Headers", "authorization, mcp-session-id"}
	}
	a := e.do("OPTIONS", "", question("https://app.example.com"))
	if a.status != 204 || a.header.Get("Access-Control-Allow-Origin") != "https://app.example.com" ||
		a.header.Get("Access-Control-Allow-Headers") != "authorization, mcp-session-id" || a.header.Get("Access-Control-Allow-Methods") != "POST, GET, DELETE" {
		t.Errorf("the question of a configured origin: %+v", a)
	}
	a = e.do("POST", modernCall, with(modernHead, "X-Caller", "token:a", "Origin", "https://app.example.com"))
	if a.status != 200 || a.header.Get("Access-Control-Allow-Origin") != "https://app.example.com" || a.header.Get("Vary") != "Origin" {
		t.Errorf("a call of a configured origin: %+v", a)
	}
	a = e.do("POST", modernCall, with(modernHead, "Origin", "https://app.example.com"))
	if a.status != 401 || a.header.Get("Access-Control-Allow-Origin") == "" {
		t.Errorf("a page has to be able to read why it was refused: %+v", a)
	}
	for _, origin := range []string{"https://evil.example.com", "http://localhost:5173", "null"} {
		if a := e.do("OPTIONS", "", question(origin)); a.status < 400 || a.header.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("the question of %s: %+v", origin, a)
		}
	}
}
