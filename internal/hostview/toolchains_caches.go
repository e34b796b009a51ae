package hostview

// packageManagers keep programs of their own besides a cache.
func packageManagers() []tool {
	return []tool{
		{name: "npm global", places: []string{"~/.npm-global", "~/.npm-packages", "~/.node_modules"}},
		{name: "npm cache", env: []string{"npm_config_cache", "NPM_CONFIG_CACHE"}, places: []string{"~/.npm"}, read: []string{},
			caches: []toolCache{{name: "npm", create: true}}},
		{name: "yarn", places: []string{"~/.yarn", "$CONFIG/yarn/global"}, read: []string{"bin", "releases", "node_modules"},
			caches: []toolCache{{sub: "berry/cache", name: "yarn-berry"}}},
		{name: "yarn cache", env: []string{"YARN_CACHE_FOLDER"}, places: []string{"$CACHE/yarn"}, read: []string{},
			caches: []toolCache{{name: "yarn"}}},
		// Hard links cannot cross mounts, so the store is a private one and
		// packages are copied from it.
		{name: "pnpm", env: []string{"PNPM_HOME"}, places: []string{"$DATA/pnpm"},
			caches: []toolCache{{sub: "store", name: "pnpm-store", create: true, private: true}}},
		{name: "pnpm cache", places: []string{"$CACHE/pnpm"}, read: []string{}, caches: []toolCache{{name: "pnpm-cache"}}},
		{name: "corepack", env: []string{"COREPACK_HOME"}, places: []string{"$CACHE/node/corepack"}, read: []string{},
			caches: []toolCache{{name: "corepack", keep: true}}},
		{name: "pipx", env: []string{"PIPX_HOME"}, places: []string{"$DATA/pipx", "~/.local/pipx"}},
		{name: "uv tools", env: []string{"UV_TOOL_DIR"}, places: []string{"$DATA/uv/tools"}},
		{name: "uv python", env: []string{"UV_PYTHON_INSTALL_DIR"}, places: []string{"$DATA/uv/python"}},
		{name: "uv cache", env: []string{"UV_CACHE_DIR"}, places: []string{"$CACHE/uv"}, read: []string{},
			caches: []toolCache{{name: "uv", create: true}}},
		{name: "rye", env: []string{"RYE_HOME"}, places: []string{"~/.rye"}},
		{name: "pixi", env: []string{"PIXI_HOME"}, places: []string{"~/.pixi"}, read: []string{"bin", "envs"}},
		{name: "poetry", env: []string{"POETRY_HOME"}, places: []string{"$DATA/pypoetry"}},
		{name: "pdm", places: []string{"$DATA/pdm"}},
		{name: "hatch", places: []string{"$DATA/hatch"}},
		{name: "gem", places: []string{"~/.gem", "$DATA/gem"}, read: []string{"ruby", "jruby"}, hide: []string{"credentials"}},
		{name: "composer", env: []string{"COMPOSER_HOME"}, places: []string{"$CONFIG/composer", "~/.composer"},
			read: []string{"vendor"}, hide: []string{"auth.json"}},
		{name: "coursier", places: []string{"$DATA/coursier"}},
		{name: "krew", env: []string{"KREW_ROOT"}, places: []string{"~/.krew"}, read: []string{"bin", "store"}},
		{name: "fonts", places: []string{"~/.fonts", "$DATA/fonts", "$CONFIG/fontconfig"}},
	}
}

// cachesOnly are programs whose only trace in home is a cache.
func cachesOnly() []tool {
	return []tool{
		cached("pip", "$CACHE/pip", "PIP_CACHE_DIR", true),
		cached("pypoetry", "$CACHE/pypoetry", "POETRY_CACHE_DIR", false),
		cached("pdm-cache", "$CACHE/pdm", "", false),
		cached("pipenv", "$CACHE/pipenv", "PIPENV_CACHE_DIR", false),
		cached("conda-pkgs", "~/.conda/pkgs", "", false),
		cached("rattler", "$CACHE/rattler", "RATTLER_CACHE_DIR", false),
		kept("pre-commit", "$CACHE/pre-commit", "PRE_COMMIT_HOME"),
		kept("prek", "$CACHE/prek", "PREK_HOME"),
		cached("mypy", "$CACHE/mypy", "", false),
		cached("ruff", "$CACHE/ruff", "", false),
		cached("node-gyp", "$CACHE/node-gyp", "", false),
		cached("typescript", "$CACHE/typescript", "", false),
		cached("turbo", "$CACHE/turbo", "", false),
		kept("playwright", "$CACHE/ms-playwright", "PLAYWRIGHT_BROWSERS_PATH"),
		kept("playwright-go", "$CACHE/ms-playwright-go", ""),
		kept("puppeteer", "$CACHE/puppeteer", "PUPPETEER_CACHE_DIR"),
		kept("selenium", "$CACHE/selenium", ""),
		kept("cypress", "$CACHE/Cypress", "CYPRESS_CACHE_FOLDER"),
		kept("electron", "$CACHE/electron", ""),
		cached("electron-builder", "$CACHE/electron-builder", "", false),
		cached("ccache", "$CACHE/ccache", "CCACHE_DIR", false),
		cached("ccache-home", "~/.ccache", "", false),
		cached("sccache", "$CACHE/sccache", "SCCACHE_DIR", false),
		cached("bazelisk", "$CACHE/bazelisk", "", false),
		cached("zig", "$CACHE/zig", "ZIG_GLOBAL_CACHE_DIR", false),
		cached("gradle", "~/.gradle/caches", "", false),
		kept("gradle-wrapper", "~/.gradle/wrapper", ""),
		kept("gradle-jdks", "~/.gradle/jdks", ""),
		kept("gradle-native", "~/.gradle/native", ""),
		cached("maven", "~/.m2/repository", "", true),
		kept("maven-wrapper", "~/.m2/wrapper", ""),
		cached("ivy", "~/.ivy2/cache", "", false),
		kept("sbt-boot", "~/.sbt/boot", ""),
		cached("coursier-cache", "$CACHE/coursier", "COURSIER_CACHE", false),
		cached("nuget", "~/.nuget/packages", "NUGET_PACKAGES", false),
		cached("composer-cache", "$CACHE/composer", "COMPOSER_CACHE_DIR", false),
		cached("rebar3", "$CACHE/rebar3", "", false),
		cached("cabal-cache", "$CACHE/cabal", "", false),
		cached("dune", "$CACHE/dune", "", false),
		cached("fontconfig", "$CACHE/fontconfig", "", false),
		cached("staticcheck", "$CACHE/staticcheck", "STATICCHECK_CACHE", false),
		cached("gopls", "$CACHE/gopls", "", false),
		cached("buf", "$CACHE/buf", "BUF_CACHE_DIR", false),
		cached("tree-sitter", "$CACHE/tree-sitter", "", false),
		cached("nix-cache", "$CACHE/nix", "", false),
	}
}

// cached is a cache that may as well be empty.
func cached(name, at, env string, create bool) tool {
	return cacheRow(name, at, env, toolCache{name: name, create: create})
}

// kept is a cache that programs cannot refill without the network.
func kept(name, at, env string) tool {
	return cacheRow(name, at, env, toolCache{name: name, keep: true})
}

func cacheRow(name, at, env string, c toolCache) tool {
	t := tool{name: name, places: []string{at}, read: []string{}, caches: []toolCache{c}}
	if env != "" {
		t.env = []string{env}
	}
	return t
}
