-- rtrain doc --html: its reader of Markdown, the HTML that it writes, links between documents.
local lu = require 'luaunit'
local Atlas = require 'rtrain.doc.site.atlas'
local examples = require 'rtrain.doc.site.examples'
local guide = require 'rtrain.doc.guide'
local html = require 'rtrain.doc.site.html'
local library = require 'rtrain.doc.site.library'
local markdown = require 'rtrain.doc.site.markdown'

local function none() end
local NO_LINKS = {link = none, code = none, word = none}

local function written(text, links) return html.blocks(markdown.read(text), links or NO_LINKS) end

TestSite = {}

function TestSite:test_blocks_become_elements()
  local cases = {
    {'# A `b` & c', '<h1 id="a-b--c">A <code>b</code> &amp; c</h1>'},
    {'## Log, and report!', '<h2 id="log-and-report"><a href="#log-and-report">Log, and report!</a></h2>'},
    {'one\n  two', '<p>one two</p>'},
    {'**b** and *c d*', '<p><strong>b</strong> and <em>c d</em></p>'},
    {'2 * 3 * 4 < 5 & 6', '<p>2 * 3 * 4 &lt; 5 &amp; 6</p>'},
    {'`` a`b ``, `<i>`', '<p><code> a`b </code>, <code>&lt;i&gt;</code></p>'},
    {'* a\n  more\n  * b\n  * c\n* d', '<ul><li>a more<ul><li>b</li>\n<li>c</li></ul></li>\n<li>d</li></ul>'},
    {'1. a\n2. b', '<ol><li>a</li>\n<li>b</li></ol>'},
    {'* a\n\n  ```sh\n  x\n  ```', '<ul><li>a<pre><code class="language-sh">x</code></pre></li></ul>'},
    {'> a\n> b', '<blockquote><p>a b</p></blockquote>'},
    {'```lua\nlocal a <const> = "&"\n\n# b\n```',
      '<pre><code class="language-lua">local a &lt;const&gt; = &quot;&amp;&quot;\n\n# b</code></pre>'},
    {'| a | b |\n|---|---|\n| `c` | |', '<div class="scroll" tabindex="0"><table><thead><tr><th scope="col">a</th>'
      .. '<th scope="col">b</th></tr></thead>\n<tbody><tr><td><code>c</code></td><td></td></tr></tbody></table></div>'},
  }
  for _, case in ipairs(cases) do
    lu.assertEquals(written(case[1]), case[2], case[1])
  end
end

function TestSite:test_headings_of_the_same_text_have_different_ids()
  local blocks = markdown.read '# A\n\n## B c\n\n## B c\n\n* x\n'
  lu.assertEquals({blocks[1].id, blocks[2].id, blocks[3].id}, {'a', 'b-c', 'b-c-1'})
end

function TestSite:test_what_is_not_understood_is_an_error()
  local refused = {
    '    indented', '~~~\nx\n~~~', 'Title\n=====\n\n=====', '---', '[a]: b', '<div>', 'a <b>c</b>', '- a', '+ a', '##### deep',
    'an `open code', 'a **b', 'a *b', 'x \\* y', 'x &nbsp; y', '[a][b]', '[a](b "title")', '```lua title\nx\n```', '```\nx',
    '| a |\n| b |', '| a |\n|---|\n| b | c |', '| a |\n|---|\n| b', '1) a',
  }
  for _, text in ipairs(refused) do
    local ok, failure = pcall(markdown.read, text)
    lu.assertFalse(ok, text)
    lu.assertEquals(failure.code, 'internal', text)
  end
end

function TestSite:test_every_guide_is_understood_and_nothing_of_it_is_lost()
  for _, name in ipairs(guide.names()) do
    local text = guide.find(name).markdown
    local shown = written(text):gsub('<[^>]*>', ' '):gsub('&lt;', '<'):gsub('&gt;', '>'):gsub('&quot;', '"'):gsub('&amp;', '&')
    local seen = {}
    for word in shown:gmatch '%w+' do seen[word] = (seen[word] or 0) + 1 end
    local without_addresses = text:gsub('%]%([^()%s]+%)', ']'):gsub('\n```%w*', '\n')
    for word in without_addresses:gmatch '%w+' do
      -- The numbers of a list are the browser's.
      if not word:match '^%d$' then
        lu.assertTrue((seen[word] or 0) > 0, ('%s: %s'):format(name, word))
        seen[word] = seen[word] - 1
      end
    end
  end
end

function TestSite:test_links_lead_from_any_page_to_any_other()
  local atlas = Atlas()
  atlas:add_page('modules/rtrain/guide/data.md', 'guide-data.html')
  atlas:add_page('modules/rtrain/PORTING.md', 'porting.html')
  atlas:add_page('examples/hello.lua', 'examples/hello.html')
  atlas.guides['guide/data'], atlas.commands['ls'] = 'guide-data.html', 'guide-commands.html#rtrain-ls'
  atlas:add_name('nn.Linear', 'api/torch.nn.html#Linear')
  atlas:add_name('nn.Linear', 'api/other.html')
  local porting = atlas:links('porting.html', 'modules/rtrain/PORTING.md')
  lu.assertEquals(porting.link 'guide/data.md#rows', 'guide-data.html#rows')
  lu.assertEquals(porting.link '../../examples/hello.lua', 'examples/hello.html')
  lu.assertEquals(porting.link '#rows', '#rows')
  lu.assertEquals(porting.link 'https://example.org/a.md', 'https://example.org/a.md')
  lu.assertNil(porting.link '../../tests/README.md')
  local api = atlas:links 'api/torch.nn.html'
  lu.assertEquals(api.code 'nn.Linear(2, 3)', '#Linear')
  lu.assertEquals(api.code 'nn.Linear {2}', '#Linear')
  lu.assertEquals(api.code 'rtrain ls --all', '../guide-commands.html#rtrain-ls')
  lu.assertEquals(api.code 'examples/hello.lua', '../examples/hello.html')
  for _, text in ipairs{'guide/data', 'rtrain doc guide/data', 'rtrain doc data'} do
    lu.assertEquals(api.code(text), '../guide-data.html', text)
  end
  lu.assertEquals(api.code 'rtrain doc nn.Linear', '#Linear')
  lu.assertEquals(api.word 'guide/data', '../guide-data.html')
  for _, other in ipairs{'nn.Linear + 1', 'nn.Nothing', 'rtrain nothing', 'train.lua'} do
    lu.assertNil(api.code(other), other)
  end
  lu.assertEquals(atlas:links('api/torch.html').code 'nn.Linear', 'torch.nn.html#Linear')
end

function TestSite:test_names_of_guides_in_a_text_are_links()
  local links = {link = none, code = none, word = function(name) return name == 'guide/data' and 'data.html' or nil end}
  lu.assertEquals(written('see guide/data, guide/none', links), '<p>see <a href="data.html">guide/data</a>, guide/none</p>')
end

function TestSite:test_an_example_shows_its_comment_what_it_prints_and_the_script()
  local readme = markdown.read('# E\n\n| example | ends with |\n|---|---|\n| `a.lua` | `x=1` |\n\n## a.lua\n\nMore.\n\n'
    .. '## b.lua\n\nNo.\n')
  local script = '-- An example.\n--\n-- It prints:\n--\n--   x = <1>\nprint(1)\n'
  local text = examples.page('a.lua', script, readme, NO_LINKS)
  for _, part in ipairs{'<p>It prints:</p>', 'x = &lt;1&gt;', '<code>x=1</code>', '<p>More.</p>', '>print(1)\n</code>'} do
    lu.assertStrContains(text, part)
  end
  lu.assertNotStrContains(text, 'No.')
  lu.assertNotStrContains(text, '-- An example')
end

function TestSite:test_the_library_has_each_thing_once()
  local ids, linear, places = {}, nil, {}
  for _, module in ipairs(library.modules()) do
    for _, name in ipairs(module.names) do
      local id = module.path .. '#' .. name.id
      lu.assertNil(ids[id], id)
      ids[id] = true
      if id == 'torch.nn#Linear' then linear = name end
    end
    for _, other in ipairs(module.others) do places[module.path .. '.' .. other.name] = other.path end
  end
  lu.assertEquals(linear.page.signatures[1]:sub(1, 10), 'nn.Linear(')
  lu.assertTrue(ids['torch.Tensor#view'] and ids['types#TrainContext'] and ids['rtrain#report'])
  lu.assertEquals(places['torch.serialization.save'], 'torch.save')
end

os.exit(lu.LuaUnit.run(), true)
