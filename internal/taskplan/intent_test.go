package taskplan

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestIntents(t *testing.T) {
	for intent, want := range map[string]Kind{
		"":                                    KindUnknown,
		"   ":                                 KindUnknown,
		"?!":                                  KindUnknown,
		"help":                                KindUnknown,
		"Fix the border of the table":         KindUnknown,
		"sketch the workshop":                 KindUnknown,
		"build":                               KindUnknown,
		"squash the commits in order to push": KindUnknown,
		"recorder, shopper, contest, latest":  KindUnknown,
		"guide the intuition":                 KindUnknown,
		"Bestellung":                          KindUnknown,
		"\xff\xfe":                            KindUnknown,

		"Test my app":                        KindAppQA,
		"please TEST the checkout flow":      KindAppQA,
		"Can you check that the login works": KindAppQA,
		"does it work?":                      KindAppQA,
		"see if it works":                    KindAppQA,
		"the app does not work":              KindAppQA,
		"the app doesn't work":               KindAppQA,
		"QA":                                 KindAppQA,
		"verify the website":                 KindAppQA,
		"run an end-to-end pass":             KindAppQA,
		"smoke-test the UI":                  KindAppQA,
		"start the dev server":               KindAppQA,
		"I want to test the shopping cart":   KindAppQA,
		"reproduce the bug in the browser":   KindAppQA,
		"the desktop app crashes":            KindAppQA,
		"verify the cleanup":                 KindAppQA,

		"open the browser":            KindBrowser,
		"sign in to the website":      KindBrowser,
		"browse the docs online":      KindBrowser,
		"check out the website":       KindBrowser,
		"read this page in Firefox":   KindBrowser,
		"search the web for a recipe": KindBrowser,

		"buy a desktop":                  KindShopping,
		"order a new keyboard online":    KindShopping,
		"go shopping":                    KindShopping,
		"purchase two tickets":           KindShopping,
		"fill my basket":                 KindShopping,
		"buy a test kit":                 KindShopping,
		"add to cart and check out":      KindShopping,
		"order groceries":                KindGrocery,
		"my weekly shop":                 KindGrocery,
		"groceries for the weekend":      KindGrocery,
		"do not test, buy groceries":     KindGrocery,
		"Buy milk at the supermarket":    KindGrocery,
		"get the grocery delivery going": KindGrocery,

		"watch the tests":                 KindObserve,
		"look at the app":                 KindObserve,
		"what's going on":                 KindObserve,
		"take a screenshot":               KindObserve,
		"observe the workspace":           KindObserve,
		"show me the logs":                KindObserve,
		"just look, don't buy anything":   KindObserve,
		"look at the stale workspaces":    KindObserve,
		"inspect the browser":             KindObserve,
		"clean up":                        KindCleanup,
		"Stop the browser workspace":      KindCleanup,
		"shut down the qa workspace":      KindCleanup,
		"remove stale workspaces":         KindCleanup,
		"kill everything":                 KindCleanup,
		"please tidy up the test project": KindCleanup,
	} {
		if got := read(intent, nil); got.kind != want {
			t.Errorf("%q is taken for %s because of %s, want %s", intent, got.kind, got.by, want)
		}
		if got := read(strings.ToUpper(intent), nil); got.kind != want {
			t.Errorf("%q in capitals is taken for %s", intent, got.kind)
		}
	}
}

func TestInputsSpeakForAKind(t *testing.T) {
	for _, tt := range []struct {
		request Request
		want    Kind
	}{
		{Request{Intent: "have a go", ProjectPath: "/p"}, KindAppQA},
		{Request{Intent: "", ProjectPath: "/p"}, KindAppQA},
		{Request{Intent: "the shopping cart is odd", ProjectPath: "/p"}, KindAppQA},
		{Request{Intent: "the website", ProjectPath: "/p"}, KindAppQA},
		{Request{Intent: "buy milk", ProjectPath: "/p"}, KindShopping},
		{Request{Intent: "stop the workspace", ProjectPath: "/p"}, KindCleanup},
		{Request{Intent: "have a go", ProjectPath: "not absolute"}, KindUnknown},
		{Request{Intent: "see to it", ShoppingList: "milk"}, KindShopping},
		{Request{Intent: "go there", TargetURL: "https://example.com"}, KindBrowser},
		{Request{Intent: "go there", TargetURL: "http://localhost:3000"}, KindAppQA},
		{Request{Intent: "go there", TargetURL: "javascript:alert(1)"}, KindUnknown},
		{Request{Intent: "go there", UserDataDir: "/d"}, KindBrowser},
		{Request{Intent: "go there", ProfileID: "shop-login"}, KindBrowser},
		{Request{Intent: "go there", ProfileID: "site"}, KindAppQA},
	} {
		if got := Plan(tt.request, busy(), toolTable(), nil); got.TaskContext.TaskKind != tt.want {
			t.Errorf("%+v: %s, want %s: %q", tt.request, got.TaskContext.TaskKind, tt.want, got.Assumptions)
		}
	}
}

// TestPhraseTable holds the table: no row twice, none that its own words do not
// find.
func TestPhraseTable(t *testing.T) {
	seen := make(map[string]bool)
	for _, p := range phrases() {
		key := strings.Join(words(p.text), " ")
		if key == "" || key != p.text && !strings.Contains(p.text, "-") {
			t.Errorf("%q is not written as it is read: %q", p.text, key)
		}
		if seen[key] {
			t.Errorf("%q stands in the table twice", key)
		}
		seen[key] = true
		f := find(words(p.text))
		if len(f) != 1 || f[0].text != p.text {
			t.Errorf("%q finds %v", p.text, f)
		}
		if p.kind != "" && !slices.Contains(kindOrder, p.kind) {
			t.Errorf("%q speaks for %q, which is not weighed", p.text, p.kind)
		}
	}
}

func FuzzIntent(f *testing.F) {
	for _, seed := range []string{"test my app", "in order to buy", "don't", "not", "check out", "\xff\xfe", "İSTOP", "buy\x00milk", strings.Repeat("order ", 500)} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, intent string) {
		got := Plan(Request{Intent: intent}, busy(), withBrowser(), nil)
		if _, ok := kinds[got.TaskContext.TaskKind]; !ok {
			t.Fatalf("there is no plan for %q", got.TaskContext.TaskKind)
		}
		if !utf8.ValidString(got.RequestedIntent) || utf8.RuneCountInString(got.RequestedIntent) > maxLine {
			t.Fatalf("the intent is told as %q", got.RequestedIntent)
		}
		checkPlan(t, got, withBrowser())
		// What stands between words decides nothing.
		if spaced := "  " + intent + " \n"; len(spaced) < maxIntent {
			if again := read(spaced, nil); again.kind != read(intent, nil).kind {
				t.Fatalf("%q is %s with spaces around it", intent, again.kind)
			}
		}
	})
}
