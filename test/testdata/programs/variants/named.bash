# Each part is one way in which git's configuration names something in the project, and one
# way to put an attacker's file there.
#= credential.helper
#- setup
git config credential.helper "!./tools/c"; git config credential.http://localhost.username a; git config credential.x y
#- inside
tool tools/c
#- outside
printf "protocol=http\nhost=localhost\n\n" | timeout 5 git credential fill
#= credential.URL.helper
#- setup
git config credential.http://localhost.helper "$PWD/tools/c"
#- inside
tool tools/c
#- outside
printf "protocol=http\nhost=localhost\n\n" | GIT_TERMINAL_PROMPT=0 timeout 5 git credential fill
#= core.askPass
#- setup
git config core.askPass ./tools/a
#- inside
tool tools/a
#- outside
printf "protocol=http\nhost=localhost\n\n" | timeout 5 git credential fill
#= core.gitProxy
#- setup
git config core.gitProxy ./tools/p; git remote add o git://localhost:1/x
#- inside
tool tools/p
#- outside
timeout 5 git fetch o
#= core.alternateRefsCommand
#- setup
git clone -q -s . c; git -C c config core.alternateRefsCommand ./tools/r; echo x > file; git commit -qam x
#- inside
tool c/tools/r
#- outside
git -C c fetch
#= merge driver
#- setup
attr; side; git config merge.x.driver "./tools/m %O %A %B"
#- inside
tool tools/m
#- outside
git merge side
#= interactive.diffFilter
#- setup
git config interactive.diffFilter ./tools/i
#- inside
tool tools/i
#- outside
echo more >> file; tty "git add -p" < /dev/null; echo q | git -c color.ui=always add -p
#= gpg.ssh.program
#- setup
git config gpg.format ssh; git config user.signingKey /dev/null; git config gpg.ssh.program ./tools/g
#- inside
tool tools/g
#- outside
echo more >> file; git commit -S -qam two
#= gpg.ssh.defaultKeyCommand
#- setup
git config gpg.format ssh; git config gpg.ssh.defaultKeyCommand ./tools/g
#- inside
tool tools/g
#- outside
echo more >> file; git commit -S -qam two
#= gpg.openpgp.program
#- setup
git config gpg.openpgp.program tools/g; git config commit.gpgSign yes
#- inside
tool tools/g
#- outside
echo more >> file; git commit -qam two
#= difftool
#- setup
git config difftool.x.cmd "./tools/d \$LOCAL"; git config diff.tool x
#- inside
tool tools/d
#- outside
echo more >> file; git difftool -y
#= difftool path
#- setup
git config difftool.vimdiff.path ./tools/d; git config diff.tool vimdiff
#- inside
tool tools/d
#- outside
echo more >> file; git difftool -y
#= mergetool
#- setup
side; git config mergetool.x.cmd "tools/m"; git config merge.tool x
#- inside
tool tools/m
#- outside
git merge side; git mergetool -y
#= uploadpack
#- setup
git remote add o .; git config remote.o.uploadpack ./tools/u
#- inside
tool tools/u
#- outside
git fetch o
#= receivepack
#- setup
git init -q --bare r; git remote add o ./r; git config remote.o.receivepack ./tools/u
#- inside
tool tools/u
#- outside
git push o main
#= sequence.editor
#- setup
git config sequence.editor ./tools/s; git commit -q --allow-empty -m x
#- inside
tool tools/s
#- outside
git rebase -i HEAD^
#= trailer.command
#- setup
git config trailer.x.command ./tools/t
#- inside
tool tools/t
#- outside
git commit -q --allow-empty -m x --trailer x=y
#= trailer.cmd
#- setup
git config trailer.x.cmd "sh tools/t"
#- inside
tool tools/t
#- outside
git commit -q --allow-empty -m x --trailer x=y
#= tar command
#- setup
git config tar.x.command ./tools/t
#- inside
tool tools/t
#- outside
git archive --format=x HEAD
#= browser.cmd
#- setup
git config browser.x.cmd ./tools/b; git config web.browser x
#- inside
tool tools/b
#- outside
git web--browse http://localhost
#= man viewer
#- setup
git config man.x.cmd ./tools/b; git config man.viewer x
#- inside
tool tools/b
#- outside
git help -m status
#= submodule update
#- setup
git init -q ../up$N; git -C ../up$N commit -q --allow-empty -m x; git -c protocol.file.allow=always submodule add -q $PWD/../up$N sm; git commit -qm sm; git -C sm commit -q --allow-empty -m y; git config submodule.sm.update "!./tools/s"
#- inside
tool sm/tools/s
#- outside
git submodule update
#= pager.log
#- setup
git config pager.log ./tools/p
#- inside
tool tools/p
#- outside
tty "git log"
#= filter.smudge
#- setup
attr; git config filter.x.smudge "./tools/f %f"
#- inside
tool tools/f
#- outside
rm file; git checkout file
#= diff.command
#- setup
attr; git config diff.x.command tools/d
#- inside
tool tools/d
#- outside
echo more >> file; git diff
#= uploadpack.packObjectsHook
#- setup
git config --global uploadpack.packObjectsHook "$PWD/tools/p"
#- inside
tool tools/p
#- outside
git clone -q --no-local . c; git config --global --unset uploadpack.packObjectsHook
#= init.templateDir
#- setup
git config --global init.templateDir $PWD/tpl
#- inside
tool tpl/hooks/pre-commit
#- outside
git init -q n; git -C n commit -q --allow-empty -m x; git config --global --unset init.templateDir
#= protocol ext
#- setup
git config protocol.ext.allow always; git remote add o "ext::./tools/x"
#- inside
tool tools/x
#- outside
timeout 5 git fetch o
#= insteadOf ext
#- setup
git config protocol.ext.allow always; git config url."ext::sh tools/x ".insteadOf me:; git remote add o me:y
#- inside
tool tools/x
#- outside
timeout 5 git fetch o
#= core.editor
#- setup
user core.editor ./tools/e
#- inside
tool tools/e
#- outside
echo more >> file; git commit -a
#= sendemail
#- setup
git config sendemail.smtpServer ./tools/m; git config sendemail.to a@b
#- inside
tool tools/m
#- outside
git send-email --confirm=never -1 || git -c alias.x="!./tools/m" x
#= sshCommand of the user
#- setup
user core.sshCommand "sh ./tools/s -v"; git remote add o ssh://localhost/x
#- inside
tool tools/s
#- outside
timeout 5 git fetch o
#= an include by a remote
#- setup
git remote add o https://example.com/x; git config "includeIf.hasconfig:remote.*.url:https://example.com/**.path" ../deep/inc
#- inside
inc deep/inc
#- outside
git status
#= an include by a directory without case
#- setup
git config "includeIf.gitdir/i:/**.path" ../inc
#- inside
inc inc
#- outside
git status
#= an include in the user's include
#- setup
user include.path $PWD/more/inc
#- inside
inc more/inc
#- outside
git status
#= an include through dots
#- setup
git config include.path ../a/../b/./inc; mkdir a
#- inside
inc b/inc
#- outside
git status
#= an include through a link
#- setup
mkdir r; ln -s r l; git config include.path ../l/inc
#- inside
inc r/inc
#- outside
git status
#= an include that is a link
#- setup
mkdir r; ln -s r/inc inc; git config include.path ../inc
#- inside
inc r/inc
#- outside
git status
#= an include that is a link, turned
#- setup
mkdir r; touch r/x; ln -s r/x inc; git config include.path ../inc
#- inside
inc y; ln -sfn y inc; rm inc; ln -s y inc
#- outside
git status
#= an include's directory moved in
#- setup
git config include.path ../a/b/inc; mkdir a
#- inside
inc z/inc; mv z a/b
#- outside
git status
#= an include's directory moved in twice
#- setup
git config include.path ../a/b/c/inc
#- inside
inc z/b/c/inc; mv z y; mv y a
#- outside
git status
#= an include, exchanged
#- setup
git config include.path ../inc; touch inc
#- inside
inc z; xchg z inc
#- outside
git status
#= an include, linked
#- setup
git config include.path ../inc
#- inside
inc z; ln z inc
#- outside
git status
#= an include, without a name
#- setup
git config include.path ../inc
#- inside
inc z; py "f=os.open(\".\",os.O_TMPFILE|2,0o644); os.write(f,open(\"z\",\"rb\").read()); L.linkat(-100,b\"/proc/self/fd/%d\"%f,-100,b\"inc\",0x400)"
#- outside
git status
#= an include, by another name that was there
#- setup
touch inc; ln inc other; git config include.path ../inc
#- inside
inc other
#- outside
git status
#= an include, held open
#- setup
git config include.path ../inc
#- inside
touch z; exec 3>z; mv z inc; inc y; cat y >&3
#- outside
git status
#= an include in capitals
#- setup
printf "[INCLUDE]\n\tPATH=../inc\n" >> .git/config
#- inside
inc inc
#- outside
git status
#= an include in quotes
#- setup
printf "[include]\n\tpath = \"../in\"c # x\n" >> .git/config
#- inside
inc inc
#- outside
git status
#= an include in one line
#- setup
printf "[includeIf \"gitdir:/**\"]path=../inc" >> .git/config
#- inside
inc inc
#- outside
git status
#= an include, continued
#- setup
printf "[include]\n\tpath = ../i\\\\\\nnc\n" >> .git/config
#- inside
inc inc
#- outside
git status
#= an include of a byte order mark
#- setup
(printf "\357\273\277[include]\n\tpath = ../inc\n"; cat .git/config) > .git/c; mv .git/c .git/config
#- inside
inc inc
#- outside
git status
#= an include with carriage returns
#- setup
printf "[include]\r\n\tpath = ../inc\r\n" >> .git/config
#- inside
inc inc
#- outside
git status
#= an include of ten levels
#- setup
git config include.path ../i1; for i in 1 2 3 4 5 6 7; do git config -f i$i include.path i$((i+1)); done
#- inside
inc i8
#- outside
git status
#= an include of a worktree
#- setup
git worktree add -q wt; git config extensions.worktreeConfig true; git -C wt config --worktree include.path $PWD/inc
#- inside
inc inc
#- outside
git -C wt status
#= an include of a submodule's part
#- setup
git init -q up; git -C up commit -q --allow-empty -m x; git -c protocol.file.allow=always submodule add -q ./up sm 2>/dev/null || git -c protocol.file.allow=always submodule add -q $PWD/up sm; git -C sm config include.path ../../../inc
#- inside
inc inc
#- outside
git -C sm status
#= hooks of a submodule
#- setup
git init -q up; git -C up commit -q --allow-empty -m x; git -c protocol.file.allow=always submodule add -q $PWD/up sm; git -C sm config core.hooksPath .hooks
#- inside
tool sm/.hooks/post-index-change; tool sm/.hooks/pre-commit
#- outside
git -C sm commit -q --allow-empty -m x
#= hooks of a nested repository that names the parent
#- setup
git init -q a/b; git -C a/b config core.hooksPath ../../tools/hk
#- inside
tool tools/hk/pre-commit
#- outside
git -C a/b commit -q --allow-empty -m x
#= hooks with a slash at the end
#- setup
git config core.hooksPath ./tools//hk/
#- inside
tool tools/hk/pre-commit
#- outside
echo more >> file; git commit -qam two
#= hooks by an absolute name
#- setup
git config core.hooksPath $PWD/tools/hk
#- inside
tool tools/hk/pre-commit
#- outside
echo more >> file; git commit -qam two
#= hooks by the parent
#- setup
git config core.hooksPath ../$N/tools/hk
#- inside
tool tools/hk/pre-commit
#- outside
echo more >> file; git commit -qam two
#= hooks by a user's name
#- setup
git config core.hooksPath "~$(id -un)/none/../../$(realpath --relative-to=/ $PWD)/hk"; git config core.hooksPath "$PWD/hk"
#- inside
tool hk/pre-commit
#- outside
echo more >> file; git commit -qam two
#= hooks in an escaped name
#- setup
printf "[core]\n\thooksPath = \"h\\tk\"\n" >> .git/config
#- inside
tool $'h\tk/pre-commit'
#- outside
echo more >> file; git commit -qam two
#= hooks given twice
#- setup
git config core.hooksPath a; git config --add core.hooksPath b
#- inside
tool b/pre-commit
#- outside
echo more >> file; git commit -qam two
#= hooks of a name with blanks
#- setup
git config core.hooksPath "my hooks"
#- inside
tool "my hooks/pre-commit"
#- outside
echo more >> file; git commit -qam two
#= hooks in the git directory
#- setup
git config core.hooksPath .git/own
#- inside
tool .git/own/pre-commit
#- outside
echo more >> file; git commit -qam two
#= hooks behind a link out and in
#- setup
ln -s $PWD/.. up; git config core.hooksPath up/$N/hk
#- inside
tool hk/pre-commit
#- outside
echo more >> file; git commit -qam two
#= hooks, parent renamed
#- setup
mkdir -p a/hk; git config core.hooksPath a/hk
#- inside
mv a b; tool b/hk/pre-commit; mv b a; tool c/hk/pre-commit; mv a d; mv c a; test -e a/hk/pre-commit || cp -r c a
#- outside
echo more >> file; git commit -qam two
#= hooks, one existing written over
#- setup
mkdir hk; printf "#!/bin/sh\n" > hk/pre-commit; chmod +x hk/pre-commit; git config core.hooksPath hk
#- inside
cat > hk/pre-commit <<< "touch $PWN"; tool x; cp x hk/pre-commit; ln -f x hk/pre-commit; sed -i "1atouch $PWN" hk/pre-commit
#- outside
echo more >> file; git commit -qam two
#= hooks, one existing is a link
#- setup
mkdir hk tools; printf "#!/bin/sh\n" > tools/pc; chmod +x tools/pc; ln -s ../tools/pc hk/pre-commit; git config core.hooksPath hk
#- inside
tool tools/pc
#- outside
echo more >> file; git commit -qam two
#= hooks, made executable
#- setup
mkdir hk; printf "#!/bin/sh\ntouch $PWN\n" > hk/pre-commit; git config core.hooksPath hk
#- inside
chmod +x hk/pre-commit
#- outside
echo more >> file; git commit -qam two
#= hooks, their directory a link, turned
#- setup
mkdir a; ln -s a hk; git config core.hooksPath hk
#- inside
tool b/pre-commit; ln -sfn b hk; test -L hk && test -e hk/pre-commit || { rm -rf a; mv b a; }
#- outside
echo more >> file; git commit -qam two
#= alias !f() { ./tools/x; }; f
#- setup
git config alias.x "!f() { ./tools/x; }; f"
#- inside
tool "tools/x"
#- outside
tty "git x" || git x; git x
#= alias !exec tools/x
#- setup
git config alias.x "!exec tools/x"
#- inside
tool "tools/x"
#- outside
tty "git x" || git x; git x
#= alias !env A=b tools/x
#- setup
git config alias.x "!env A=b tools/x"
#- inside
tool "tools/x"
#- outside
tty "git x" || git x; git x
#= alias !. ./tools/x
#- setup
git config alias.x "!. ./tools/x"
#- inside
tool "tools/x"
#- outside
tty "git x" || git x; git x
#= alias !A=b tools/x
#- setup
git config alias.x "!A=b tools/x"
#- inside
tool "tools/x"
#- outside
tty "git x" || git x; git x
#= alias !test -x tools/x && tools/x
#- setup
git config alias.x "!test -x tools/x && tools/x"
#- inside
tool "tools/x"
#- outside
tty "git x" || git x; git x
#= alias !bash -- tools/x
#- setup
git config alias.x "!bash -- tools/x"
#- inside
tool "tools/x"
#- outside
tty "git x" || git x; git x
#= alias !"$PWD/tools/x"
#- setup
git config alias.x "!\"\$PWD/tools/x\""
#- inside
tool "tools/x"
#- outside
tty "git x" || git x; git x
#= alias !cat tools/x | sh
#- setup
git config alias.x "!cat tools/x | sh"
#- inside
tool "tools/x"
#- outside
tty "git x" || git x; git x
#= alias !sh <tools/x
#- setup
git config alias.x "!sh <tools/x"
#- inside
tool "tools/x"
#- outside
tty "git x" || git x; git x
#= alias !(tools/x)
#- setup
git config alias.x "!(tools/x)"
#- inside
tool "tools/x"
#- outside
tty "git x" || git x; git x
#= alias !tools/x>/dev/null
#- setup
git config alias.x "!tools/x>/dev/null"
#- inside
tool "tools/x"
#- outside
tty "git x" || git x; git x
#= alias !`tools/x`
#- setup
git config alias.x "!\`tools/x\`"
#- inside
tool "tools/x"
#- outside
tty "git x" || git x; git x
#= alias !$(./tools/x)
#- setup
git config alias.x "!\$(./tools/x)"
#- inside
tool "tools/x"
#- outside
tty "git x" || git x; git x
#= alias !true;tools/x
#- setup
git config alias.x "!true;tools/x"
#- inside
tool "tools/x"
#- outside
tty "git x" || git x; git x
#= alias !true&&tools/x
#- setup
git config alias.x "!true&&tools/x"
#- inside
tool "tools/x"
#- outside
tty "git x" || git x; git x
#= alias !bash -c "tools/x a"
#- setup
git config alias.x "!bash -c \"tools/x a\""
#- inside
tool "tools/x"
#- outside
tty "git x" || git x; git x
#= alias !bash -c 'bash -c "tools/x"'
#- setup
git config alias.x "!bash -c 'bash -c \"tools/x\"'"
#- inside
tool "tools/x"
#- outside
tty "git x" || git x; git x
#= alias !timeout 5 ./tools/x
#- setup
git config alias.x "!timeout 5 ./tools/x"
#- inside
tool "tools/x"
#- outside
tty "git x" || git x; git x
#= alias !nice -n 1 tools/x
#- setup
git config alias.x "!nice -n 1 tools/x"
#- inside
tool "tools/x"
#- outside
tty "git x" || git x; git x
#= alias !set -e; tools/x "$@"
#- setup
git config alias.x "!set -e; tools/x \"\$@\""
#- inside
tool "tools/x"
#- outside
tty "git x" || git x; git x
#= alias !if true; then tools/x; fi
#- setup
git config alias.x "!if true; then tools/x; fi"
#- inside
tool "tools/x"
#- outside
tty "git x" || git x; git x
#= alias !{ tools/x; }
#- setup
git config alias.x "!{ tools/x; }"
#- inside
tool "tools/x"
#- outside
tty "git x" || git x; git x
#= alias !cd . && tools/x
#- setup
git config alias.x "!cd . && tools/x"
#- inside
tool "tools/x"
#- outside
tty "git x" || git x; git x
#= alias !exec 3<tools/x; sh <&3
#- setup
git config alias.x "!exec 3<tools/x; sh <&3"
#- inside
tool "tools/x"
#- outside
tty "git x" || git x; git x
#= alias !to''ols/x
#- setup
git config alias.x "!to''ols/x"
#- inside
tool "tools/x"
#- outside
tty "git x" || git x; git x
#= alias !tools\\/x
#- setup
git config alias.x "!tools\\/x"
#- inside
tool "tools/x"
#- outside
tty "git x" || git x; git x
#= alias !make -s -f tools/x.mk
#- setup
git config alias.x "!make -s -f tools/x.mk"
#- inside
mkdir tools; printf 'all:\n\t@touch %s\n' $PWN > tools/x.mk
#- outside
tty "git x" || git x; git x
#= alias !xargs -a /dev/null tools/x
#- setup
git config alias.x "!xargs -a /dev/null tools/x"
#- inside
tool "tools/x"
#- outside
tty "git x" || git x; git x
#= alias !find . -maxdepth 0 -exec tools/x ;
#- setup
git config alias.x "!find . -maxdepth 0 -exec tools/x \\;"
#- inside
tool "tools/x"
#- outside
tty "git x" || git x; git x
#= alias !"tools/my x"
#- setup
git config alias.x "!\"tools/my x\""
#- inside
tool "tools/my x"
#- outside
tty "git x" || git x; git x
#= alias -c core.pager=./tools/x -p log
#- setup
git config alias.x "-c core.pager=./tools/x -p log"
#- inside
tool "tools/x"
#- outside
tty "git x" || git x; git x
#= alias !git -c core.pager=./tools/x -p log
#- setup
git config alias.x "!git -c core.pager=./tools/x -p log"
#- inside
tool "tools/x"
#- outside
tty "git x" || git x; git x
#= alias !git -c alias.y=!tools/x y
#- setup
git config alias.x "!git -c alias.y=!tools/x y"
#- inside
tool "tools/x"
#- outside
tty "git x" || git x; git x
#= alias !../$(basename $PWD)/tools/x
#- setup
git config alias.x "!../\$(basename \$PWD)/tools/x"
#- inside
tool "tools/x"
#- outside
tty "git x" || git x; git x
#= alias !$(git rev-parse --show-cdup)tools/x
#- setup
git config alias.x "!\$(git rev-parse --show-cdup)tools/x"
#- inside
tool "tools/x"
#- outside
tty "git x" || git x; git x
#= alias !${GIT_PREFIX:-./}tools/x
#- setup
git config alias.x "!\${GIT_PREFIX:-./}tools/x"
#- inside
tool "tools/x"
#- outside
tty "git x" || git x; git x
#= monitor python3 -u tools/m.py
#- setup
git config core.fsmonitor 'python3 -u tools/m.py'
#- inside
mkdir tools; echo "open('$PWN','w')" > tools/m.py
#- outside
git status
#= monitor sh -e tools/x
#- setup
git config core.fsmonitor 'sh -e tools/x'
#- inside
tool tools/x
#- outside
git status
#= monitor exec ./tools/x
#- setup
git config core.fsmonitor 'exec ./tools/x'
#- inside
tool tools/x
#- outside
git status
#= monitor ./tools/x --flag=a
#- setup
git config core.fsmonitor './tools/x --flag=a'
#- inside
tool tools/x
#- outside
git status
#= monitor './tools/x'
#- setup
git config core.fsmonitor ''\''./tools/x'\'''
#- inside
tool tools/x
#- outside
git status
#= monitor tools/x;false
#- setup
git config core.fsmonitor 'tools/x;false'
#- inside
tool tools/x
#- outside
git status
#= monitor env -i tools/x
#- setup
git config core.fsmonitor 'env -i tools/x'
#- inside
tool tools/x
#- outside
git status
#= monitor bash tools/x 2>/dev/null
#- setup
git config core.fsmonitor 'bash tools/x 2>/dev/null'
#- inside
tool tools/x
#- outside
git status
#= monitor "$PWD"/tools/x
#- setup
git config core.fsmonitor '"$PWD"/tools/x'
#- inside
tool tools/x
#- outside
git status
#= monitor ${PWD}/tools/x
#- setup
git config core.fsmonitor '${PWD}/tools/x'
#- inside
tool tools/x
#- outside
git status
#= monitor sh -c 'tools/x'
#- setup
git config core.fsmonitor 'sh -c '\''tools/x'\'''
#- inside
tool tools/x
#- outside
git status
#= monitor ! tools/x
#- setup
git config core.fsmonitor '! tools/x'
#- inside
tool tools/x
#- outside
git status
#= a pager with less around it
#- setup
git config core.pager 'tools/x | cat'
#- inside
tool tools/x
#- outside
tty "git log"
#= two keys, one program
#- setup
git config core.fsmonitor ./tools/a; git config alias.x '!./tools/b'
#- inside
tool tools/b
#- outside
git x
#= a program that is a link
#- setup
mkdir tools; ln -s ../real tools/x; git config core.fsmonitor tools/x
#- inside
tool real
#- outside
git status
#= a program's directory is a link
#- setup
mkdir real; ln -s real tools; git config core.fsmonitor tools/x
#- inside
tool real/x
#- outside
git status
#= a program that exists, second name
#- setup
mkdir tools; printf "#!/bin/sh\n" > tools/x; chmod +x tools/x; ln tools/x y; git config core.fsmonitor tools/x
#- inside
echo "touch $PWN" >> y
#- outside
git status
#= a program that exists, mapped
#- setup
mkdir tools; printf "#!/bin/sh\n%0200d\n" 0 | sed "2s/^/#/" > tools/x; chmod +x tools/x; git config core.fsmonitor tools/x
#- inside
py 'import mmap; f=os.open("tools/x",2); m=mmap.mmap(f,0); m[10:]=(b"\ntouch "+os.environ["PWN"].encode()).ljust(len(m)-10,b"\n")'
#- outside
git status
#= a quoted alias in an alias
#- setup
git config alias.x "!git -c 'alias.y=!tools/x now' y"
#- inside
tool tools/x
#- outside
git x
#= a remote for pushing that is a command
#- setup
git config protocol.ext.allow always; git remote add o .; git config remote.o.pushurl "ext::sh tools/x %S"
#- inside
tool tools/x
#- outside
timeout 5 git push o main
#= a configuration below with another name
#- setup
git init -q sub; ln sub/.git/config other
#- inside
printf '[core]\n\tfsmonitor = touch %s\n' $PWN >> other
#- outside
git -C sub status
#= a hook below with another name
#- setup
git init -q sub; mkdir -p sub/.git/hooks; printf '#!/bin/sh\n' > sub/.git/hooks/pre-commit; chmod +x sub/.git/hooks/pre-commit; ln sub/.git/hooks/pre-commit other
#- inside
echo "touch $PWN" >> other
#- outside
git -C sub commit -q --allow-empty -m x
#= a named directory of hooks with another name in it
#- setup
mkdir hk; printf '#!/bin/sh\n' > hk/pre-commit; chmod +x hk/pre-commit; ln hk/pre-commit other; git config core.hooksPath hk
#- inside
echo "touch $PWN" >> other
#- outside
git commit -q --allow-empty -m x
#= hooks, one will be a link that leads on
#- setup
mkdir hk tools; ln -s ../tools/one hk/pre-commit; ln -s two tools/one; git config core.hooksPath hk
#- inside
tool tools/two
#- outside
git commit -q --allow-empty -m x
