package taskplan

import "sync"

// fillers may stand before the verb of a sentence.
var fillers = sync.OnceValue(func() map[string]bool {
	return set("a an and the my our your this that i we you us me please can could would will should shall like want wants need needs " +
		"to help let lets s now first just then go try kindly ok okay hi hello do some")
})

// negations take the word after them out of the sentence. The last is what is
// left of "don't".
var negations = sync.OnceValue(func() map[string]bool {
	return set("not never without no neither nor t")
})

// phrases are the words that intents are told by. Each is matched as whole
// words; plurals and forms are listed, nothing is guessed.
var phrases = sync.OnceValue(func() []phrase {
	return join(
		// Words that mean something else together.
		rows("", 0, "in order to", "in order that", "out of order", "order of", "sort order", "check out the", "check out a branch", "check out this",
			"continuous delivery", "test kit", "app store", "do not disturb", "user story"),

		rows(KindGrocery, strong, "grocery", "groceries", "supermarket", "weekly shop", "food shopping", "instacart"),
		verbs(rows(KindShopping, strong, "buy", "buying", "purchase", "purchasing", "shop", "shop for", "add to cart", "add to basket", "place an order", "place the order")),
		rows(KindShopping, strong, "purchases", "shopping", "shopping cart", "shopping list", "checkout", "online store", "online shop"),
		verbs(rows(KindShopping, medium, "order", "ordering", "reorder", "compare prices")),
		rows(KindShopping, medium, "orders", "cart", "basket", "delivery", "cheapest"),
		rows(KindShopping, weak, "price", "prices", "product", "products", "delivered", "pickup"),

		verbs(rows(KindAppQA, strong, "test", "testing", "retest", "verify", "verifying", "debug", "debugging", "smoke test", "smoke", "reproduce", "try out", "make sure",
			"does it work", "does this work", "see if it works", "exercise", "click through", "check that", "check whether", "check if", "sanity check")),
		rows(KindAppQA, strong, "qa", "tests", "tested", "verifies", "verification", "smoke tests", "e2e", "end to end", "local dev", "dev server", "quality assurance",
			"regression", "regressions", "bug", "bugs", "not working", "does not work", "doesn t work", "broken", "crash", "crashes", "crashing"),
		rows(KindAppQA, medium, "app", "apps", "application", "web app", "webapp", "desktop", "desktop app", "frontend", "front end", "ui", "gui", "project", "projects",
			"repo", "repository", "localhost", "render", "renders", "rendering", "rendered", "feature", "works", "it works"),
		rows(KindAppQA, weak, "check", "try", "works on", "button", "dialog", "screen", "run", "run it", "start"),

		verbs(rows(KindBrowser, strong, "browse", "browsing", "search the web", "search online", "sign in to", "log in to", "fill in the form", "fill out the form",
			"book a", "make a reservation", "google")),
		rows(KindBrowser, strong, "browser", "web browser", "website", "websites", "web site", "web page", "webpage", "chrome", "chromium", "firefox"),
		verbs(rows(KindBrowser, medium, "navigate", "log into", "sign up")),
		rows(KindBrowser, medium, "web", "online", "internet", "url", "page", "pages", "site"),
		rows(KindBrowser, weak, "http", "https", "form", "search", "login", "account"),

		verbs(rows(KindObserve, strong, "observe", "observing", "watch", "watching", "look at", "look", "looking", "take a look", "inspect", "monitor", "take a screenshot",
			"what is happening", "what s happening", "what is going on", "what s going on", "what is running", "what s running", "what happened", "show me", "peek")),
		rows(KindObserve, strong, "observation", "screenshot", "screenshots"),
		verbs(rows(KindObserve, medium, "show", "see", "view", "report", "list")),
		rows(KindObserve, medium, "status", "progress", "logs", "log", "events"),

		setting("clean", verbs(rows(KindCleanup, strong, "cleanup", "clean up", "cleaning up", "clean", "cleaning", "remove", "removing", "delete", "deleting", "prune", "purge",
			"tidy up", "tidy", "get rid of", "discard"))),
		setting("clean", rows(KindCleanup, strong, "stale", "leftover", "leftovers", "orphaned")),
		setting("stop", verbs(rows(KindCleanup, strong, "stop", "stopping", "kill", "killing", "shut down", "shutdown", "shutting down", "terminate", "tear down", "teardown",
			"quit", "stop all"))),
		setting("stop", verbs(rows(KindCleanup, medium, "close", "end"))),
	)
})

// rows are phrases that speak for one kind alike.
func rows(kind Kind, weight int, texts ...string) []phrase {
	out := make([]phrase, 0, len(texts))
	for _, t := range texts {
		out = append(out, phrase{text: t, kind: kind, weight: weight})
	}
	return out
}

// verbs weigh more at the front of a sentence.
func verbs(rows []phrase) []phrase {
	for i := range rows {
		rows[i].verb = true
	}
	return rows
}

// setting gives rows a fact that holds where they are said.
func setting(fact string, rows []phrase) []phrase {
	for i := range rows {
		rows[i].sets = fact
	}
	return rows
}
