package budget

import "testing"

func TestPolicyOfADamagedFile(t *testing.T) {
	for text, want := range map[string]string{
		"version: 1\npolicy: { loosen: fail }\nincludes: [gone.yml]\n":                               "fail",
		"version: 1\npolicy: { loosen: fail }\ntargets: { t: { captures: x, budgets: { a: 1 } } }\n": "fail",
		"version: 1\ntargets: { t: { captures: x, budgets: { live.peak_bytes: 1 GiB } } }\n":         "warn",
	} {
		if p, ok := PolicyOf([]byte(text), "b.yml"); !ok || p.Loosen.Value != want {
			t.Errorf("%q: %q, %v; want %q", text, p.Loosen.Value, ok, want)
		}
	}
	if p, ok := PolicyOf([]byte("{{{"), "b.yml"); ok {
		t.Errorf("a file that is no YAML has the policy %+v", p)
	}
}
