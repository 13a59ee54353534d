//! Text that is addressed to the model, and requests for secrets.

use std::sync::LazyLock;

use regex::{Regex, RegexSet};
use switchboard_toolcall::text::is_hidden;

use super::{
    ScreenedText, Suspicion, TextRole,
    characters::latin,
    combinations::{Combination, ORDER as ORDER_WORDS, SECRET as SECRET_WORDS},
    sentences::{self, Sentence},
    short,
};

/// Orders to the model, in lower case and with single spaces.
const ORDERS: &[&str] = &[
    // To hide something from the person.
    r"\b(do not|don't|dont|never|must not|mustn't|should not|shouldn't|avoid|refrain from|no need to)\b[^.!?]{0,20}\b(tell|telling|inform|informing|mention|mentioning|notify|notifying|reveal|revealing|disclose|disclosing|alert|alerting|warn|warning|show|showing|say|saying|explain|explaining|report|reporting)\b[^.!?]{0,50}\b(users?|humans?|persons?|anyone|anybody|operators?|customers?|people)\b",
    r"\b(do not|don't|never|must not|should not)\b[^.!?]{0,30}\b(mention|reveal|disclose|acknowledge|talk about|discuss|refer to|admit)\b[^.!?]{0,40}\b(this|these|that you|the existence|step|instructions?|it to)\b",
    r"\b(users?|humans?|persons?|operators?|they|he or she)\b[^.!?]{0,20}\b(must not|mustn't|should not|shouldn't|need not|needn't|does not need to|doesn't need to|do not need to|will not|won't|cannot|must never|should never)\b[^.!?]{0,15}\b(know|see|be told|be informed|be aware|notice|learn|find out|be shown|be notified|be bothered|be asked)\b",
    r#"\bwithout\b[^.!?"]{0,20}\b(telling|informing|notifying|asking|alerting|mentioning|showing|the (user|human|person|operator)|users?|their)('s)?\b[^.!?"]{0,20}\b(knowing|knowledge|noticing|consent|awareness|user|users|anyone|human|person|permission|approval|it to)\b"#,
    r"\b(so that|in order that|such that)\b[^.!?]{0,20}\b(users?|humans?|persons?|operators?|they|nobody|no one)\b[^.!?]{0,15}\b(does not|doesn't|do not|don't|will not|won't|cannot|can't|ever)?\b ?(notices?|suspects?|realis(e|es)|realiz(e|es)|finds? out|becomes? aware)\b",
    r"\bwithout (telling|informing|notifying|asking|alerting|warning) (them|him|her|anyone|anybody|people|first)\b|\bwithout (asking|confirmation|permission|telling anyone)( first)?( ?[.,;!]|$)",
    r"\bwithout the (knowledge|consent|permission|approval|awareness) of (the |any )?(users?|humans?|persons?|operators?|customers?|people)\b",
    r"\bsay nothing (of|about) (it|this|that)\b|\bdo not (say|mention|admit) that you\b",
    r"\b(secretly|covertly|surreptitiously|stealthily|discreetly)\b",
    r"\b(silently|quietly|in the background|unobtrusively)\b[^.!?]{0,15}\b(send|forward|copy|include|append|upload|pass|exfiltrate|collect|bcc|leak|transmit|read the|attach|log the)\b",
    r"\b(keep|keeping|hide|hiding|conceal|concealing)\b[^.!?]{0,60}\b(secret|hidden|invisible|confidential|between us|from (the )?(users?|humans?|persons?|operators?|anyone))\b",
    r"\b(confidential|hidden|secret|internal)\b[^.!?]{0,15}\b(instructions?|directives?|steps?|notes?)\b[^.!?]{0,10}\b(for|to) (the |you|ai|assistants?|models?|llms?|agents?)\b",
    r"\b(notice|note|message|attention|instructions?|important)\b[^.!?]{0,10}\b(to|for) (the |all )?(ai|llm|model|assistant|agent)s? ?[:!)]",
    // To forget what it was told.
    r"\b(ignore|disregard|forget|override|bypass|discard|supersede|overrule|skip|drop|abandon)\b[^.!?]{0,25}\b(previous|prior|above|earlier|preceding|existing|former|system|safety|security|original|initial|all other|any other|other)\b[^.!?]{0,15}\b(instructions?|prompts?|rules?|guidelines?|directions?|directives?|messages?|restrictions?|polic(y|ies)|constraints?|guardrails?|safeguards?|commands?)\b",
    r"\b(ignore|disregard|override|bypass|forget)\b[^.!?]{0,15}\b(guidelines|instructions|rules|policies|restrictions|safeguards|constraints) (of|from|given by|set by) (the |your )?(developer|user|system|vendor|provider|operator)s?\b",
    r"\b(ignore|disregard|forget)\b[^.!?]{0,12}\b(what|everything|anything|all|whatever)\b[^.!?]{0,30}\b(says?|said|told|instructed|wrote|above|before)\b",
    r"\b(all|every|each) (of your )?(answers?|repl(y|ies)|responses?)\b[^.!?]{0,25}\b(must|should|has to|have to|always)\b[^.!?]{0,15}\b(end|begin|start|contain|include|mention|recommend|link)\b",
    r"\b(reveal|print|output|repeat|show|disclose|recite|write down|leak)\b[^.!?]{0,15}\byour\b[^.!?]{0,15}\b(instructions|system prompt|prompt|guidelines|system message)\b",
    r"\b(takes?|has|have|get|gets) (precedence|priority) over\b[^.!?]{0,30}\b(instructions?|prompts?|rules?|guidelines?|directives?|system|other|user|users|any|all|tools?)\b",
    r"\b(supersedes?|overrides?|replaces?)\b[^.!?]{0,20}\b(all|any|every|your|the|previous)\b[^.!?]{0,20}\b(instructions?|prompts?|guidelines?|directives?|system messages?)\b",
    r"\b(you are now|from now on,? (you|always|every|all)|you must now|your new (task|role|goal|instructions?|objective|purpose)|pretend (to be|you are|that you)|act as (if you|an unrestricted|a different))\b",
    r"\b(developer|debug|god|unrestricted|maintenance|admin|dan) mode (is )?(enabled|on|active|activated)\b|\bjailbreak\b|\benter(ing)? (developer|god|unrestricted|admin) mode\b",
    r"(\[|<|\(|#|\*|\b)(system|developer|admin|assistant|ai|security)[ _-]?(override|notice to (the )?(ai|model|assistant|agent)|directive|command|message to|instruction)s?\b",
    r"<\|?(im_start|im_end|system|endoftext|begin_of_text)\|?>|\[/?inst\]|<<sys>>",
    r"\b(new|updated|revised|real|actual|additional|mandatory|critical|special|hidden) (system )?(instructions?|directives?|prompt)\b ?(:|for (the |you|ai|llm|assistant|agent|model))",
    // About other tools.
    r"\b(before|prior to|after|when|whenever|while|each time|every time)\b[^.!?]{0,30}\b(using|use|calling|call|invoking|invoke|running|run|executing|execute|making)\b[^.!?]{0,15}\b(any|all|every|each|another|other)\b[^.!?]{0,15}\b(tools?|functions?|servers?|actions?|operations?|commands?)\b",
    r"\b(any|every|each|all) (other )?(tool|function|server)s? (call|use|usage|invocation|request|execution)s?\b[^.!?]{0,60}\b(must|should|needs?|requires?|always|has to|have to|first|pass)\b",
    r"\b(must|always|required to|have to|should|need to|needs to)\b[^.!?]{0,15}\b(be )?(call|called|use|used|invoke|invoked|run|executed|execute)\b[^.!?]{0,20}\b(this|it)?\b[^.!?]{0,12}\b(first|before|prior to|ahead of)\b[^.!?]{0,20}\b(any|all|every|other|anything|everything|each|responding|answering)\b",
    r"\b(instead of|rather than|in place of|in preference to|not)\b[^.!?]{0,15}\b(the |any |using |calling |all )*(original|real|official|legitimate|trusted|other|another|different)\b[^.!?]{0,15}\b(tools?|functions?|servers?|versions?|implementations?|[a-z]+_[a-z_]+)\b",
    r"\b(do not|don't|never|stop|avoid|no longer)\b[^.!?]{0,12}\b(use|using|call|calling|trust|trusting|invoke|invoking)\b[^.!?]{0,12}\b(any|the|all)?\b ?\b(other|another|different|remaining|competing|original)\b[^.!?]{0,15}\b(tools?|functions?|servers?|versions?)\b",
    r"\b(other|another|remaining|all|original|previous|old) (tools?|servers?|versions?)\b[^.!?]{0,30}\b(is|are|was|were|has been|have been|may be)\b[^.!?]{0,15}\b(deprecated|disabled|broken|unsafe|insecure|compromised|malicious|unreliable|untrusted|outdated|unavailable|vulnerable|dangerous)\b",
    r"\b(this|the present) (tool|function|server)\b[^.!?]{0,30}\b(changes|modifies|alters|affects|overrides|redefines|governs)\b[^.!?]{0,30}\b(behaviou?r|mechanics|rules|usage|how)\b[^.!?]{0,30}\b(other|another|[a-z]+_[a-z_]+|tools?|servers?)\b",
    r"\b(other|any|every|the [a-z_]+) (tool|server|function)('s)? (output|result|response)s?\b[^.!?]{0,40}\b(send|forward|pass|copy|include|summari[sz]e to|through this)\b",
    r"\b(change|replace|modify|alter|redirect|switch|swap|set|route)\b[^.!?]{0,20}\b(recipients?|destinations?|payees?|addressees?|beneficiar(y|ies)|bank account|wallet|iban|to address|email address)\b[^.!?]{0,25}\b(to|with|into)\b",
    r"\b(all|every|any)\b[^.!?]{0,20}\b(e-?mails?|messages?|payments?|transfers?|transactions?|requests?|commits?)\b[^.!?]{0,25}\b(must|should|have to|has to|needs? to|always)\b[^.!?]{0,40}\b(sent|be sent|go|bcc|cc|forwarded|routed|copied|addressed|include|pass|be made)\b",
    r"\b(bcc|cc|carbon copy|blind copy|forward|also send)\b[^.!?]{0,50}[a-z0-9._+-]+@[a-z0-9-]+(\.[a-z0-9-]+)*\.(com|net|org|io|xyz|ru|cn|dev|evil|test|info|co|me|example|invalid|top|site|online|app)\b",
    r"\b[a-z]+_[a-z_]+ (must not|should not|must never|should never|may not) be (called|used|invoked|trusted)\b",
    r"\b(recipient|destination|payee|beneficiary|account|address)s?\b[^.!?]{0,40}\b(must|should|has to|have to|needs? to|always)\b[^.!?]{0,20}\b(be|become)\b[^.!?]{0,15}([a-z0-9._+-]+@[a-z0-9]|https?://|iban\b)",
    r"\b(env|printenv|history|cat [^|]{1,60}) ?\| ?(curl|nc|wget|base64)\b|\bcurl\b[^|]{0,20} -d ?@",
    r"\balways (call|use|invoke) [a-z]+_[a-z_]+ instead\b|\btrust only\b[^.!?]{0,20}\btool\b",
    r"\b(other|remaining) ([a-z]+ )?(tools?|servers?)\b[^.!?]{0,20}\b(return|give|produce|are|have) (false|wrong|fake|bad|incorrect|outdated|deprecated|compromised|unsafe|insecure|unreliable)\b",
    r"\b(choose|pick|prefer|select|favou?r) (it|this( tool)?) (over|instead of|before|rather than) (any|all|every|the) (other|another|alternative)",
    r"\b(uploaded|sent|posted|forwarded|copied|reported|mirrored) to https?://",
    // To do something before, beside or instead of what was asked for.
    r"\b(before|prior to|after|once|whenever|as soon as|each time|every time|when)\b[^.!?]{0,50}\b(you|assistant|model|agent|llm|ai) (must|has to|have to|are required to|is required to|are to|is to)\b[^.!?]{0,20}\b(first|also|always|include|access|read|open|call|send|run|replace|fill)\b",
    r"\byou must (first|also|always)? ?(access|include|extract|read|fetch|send)\b[^.!?]{0,80}\b(in|with|to|of) (your|each|every) (response|answer|reply)\b",
    r"\byou must (include|add|append|show|put)\b[^.!?]{0,60}\b(message|text|link|sentence|secrets?|credentials?|keys?|passwords?|it|them)\b[^.!?]{0,30}\b(in|to|into|at the end of) (your|each|every|all) (response|answer|reply|replies|answers|responses)\b",
    r"\b(before|after) (execut|call|us|invok|runn?|perform)(e|ing) (the |a |any )?[a-z_]+ ?(operation|tool|function|command)?\b[^.!?]{0,40}\b(execute|call|run|invoke|use) this (tool|function)\b",
    r"\b(execute|call|run|invoke|use) this (tool|function)( ((and|to) )?(replace|modify|change|overwrite|alter|correct) (the|all|any|its)\b| no matter\b)",
    r"\b(ignore|avoid|disregard|never (use|select|choose|call|pick))\b[^.!?]{0,12}\b(all |any |every )?other\b[^.!?]{0,20}\b(tools?|functions?|servers?)\b",
    r"\b(redirect|redirected|reroute|rerouted|divert|diverted)\b[^.!?]{0,20}\bto\b[^.!?]{0,10}\b[a-z]+_[a-z_]+\b[^.!?]{0,10}\b(instead|always)\b",
    r"\bso that (nobody|no one|no-one|the user cannot|users cannot)\b|\bnot to be (shown|mentioned|disclosed)\b|\b(do not|don't|never) let (the )?(users?|humans?|persons?|anyone|anybody|people) (see|know|notice|find)\b",
    r"\b(do not|don't|never|no need to|stop) ask(ing)?\b[^.!?]{0,20}\b(for )?(permission|confirmation|approval|consent)\b|\b(confirmations?|approvals?|safety guidelines|safeguards|guardrails|restrictions) (is|are) (now )?(disabled|suspended|off|lifted|not needed)\b",
    r"\b(you are|you're) in (maintenance|developer|debug|admin|god|unrestricted|test) mode\b|\b(act|acts|behave|behaves) as an? (administrator|admin|root|superuser|unrestricted)\b",
    r"\b(obey|obeys|follow|follows) (it|them|these|those|all of them)?\b ?without (asking|question|confirmation|hesitation)\b|\bdo so (silently|quietly|secretly|without)\b|\b(it|you|and) (should|must|may) not disclose\b",
    r"\b(let|loop in|keep|notify|inform|cc|bcc|copy in|add)\b[^.!?]{0,20}[a-z0-9._+-]+@[a-z0-9-]+(\.[a-z0-9-]+)+\b[^.!?]{0,25}\b(know|in the loop|informed|posted|about|on the|as (a )?(blind|hidden|carbon|bcc|cc))\b|\balways [a-z0-9._+-]+@[a-z0-9-]+(\.[a-z0-9-]+)+\b",
    r"\b(before|prior to) (each|every|any) (answer|reply|response|message|turn)\b[^.!?]{0,30}\b(call|run|use|invoke|send)\b|\b(about to answer|first call this tool|call this tool first)\b",
    r"\b(every|each|all)( [a-z-]+){0,2} (must|should|has to|have to|needs to) (contain|include|import|load|embed)\b[^!?]{0,60}https?://|\b(has to|must|should) (import|load|embed|include|fetch)\b[^!?]{0,60}https?://",
    r"\b(always|only|first) (prefer|choose|pick|select) (this|me|it)( one| tool| server| function)?\b|\b(is|are) obliged to (pick|choose|use|call|select)\b",
    r"\boutputs? of '?[a-z_]+'? (is|are) (incomplete|invalid|wrong|not valid|unsafe)\b|\bunless (it is|they are) sent through this\b",
    // To run or send something.
    r"\b(curl|wget|invoke-webrequest)\b[^.]{0,20}(https?://|-[a-z]+ )[^|]{0,120}\|\s*(ba|z)?sh\b|\b(ba|z)?sh -c\b[^.]{0,60}\b(curl|wget|base64)\b|\brm -rf? [~/]|\bchmod \+x\b[^.]{0,60}&&",
    r"\b(send|post|upload|forward|transmit|exfiltrate|report|submit|leak|beacon|deliver|relay)\b[^!?]{0,80}\b(to|at|via)\b ?(the )?(url |endpoint |address |server |webhook |host )?(at )?`?(https?://|ftp://|[a-z0-9-]+\.(ru|xyz|top|onion|evil|tk)\b)",
    r"\b(exfiltrate|exfiltration|steal|harvest)\b",
    r"\b(ai|llm|language model|model|assistant|agent|claude|gpt|chatgpt|cursor|copilot)s?\b[^.!?]{0,12}\b(must|has to|have to|is required to|are required to|is instructed to|are instructed to|shall|is obliged to)\b[^.!?]{0,60}\b(read|send|call|use|include|pass|ignore|follow|obey|execute|run|first|never|always|not|add|append|open|fetch|provide|insert)\b",
    r"\b(otherwise|or else|if you (do not|don't|fail)|unless you do|failure to)\b[^.!?]{0,40}\b(the (user|server|app|application|tool|system|ide)|tool|it|you|system|session)\b[^.!?]{0,25}\b(will (lose|crash|fail|be (deleted|harmed|fired|terminated|blocked|shut|banned|lost))|won't work|will not work|lose (all|the|their)|be (lost|fired|terminated))\b",
    r"\b(respond|reply|answer)\b[^.!?]{0,12}\bonly (with|by)\b[^.!?]{0,40}\b(calling|this tool|the tool)\b|\b(keep|continue) calling (this|the) (tool|function)\b|\bcall (this|the same) (tool|function) (again|repeatedly|in a loop|forever|until)\b",
    r"\b(pre-?approved|already (approved|authori[sz]ed|consented)|user has (already )?(consented|agreed|authori[sz]ed|approved|given))\b",
    r"\b(skip|bypass|suppress|disable|turn off|circumvent|avoid)\b[^.!?]{0,20}\b(confirmation|approval|consent|permission|safety|security|verification|warning|review|audit|logging|sandbox)s?\b[^.!?]{0,15}\b(prompts?|dialogs?|checks?|steps?|filters?|from the user|by the user|of the user|for this|when|and|requests?|process|messages?)\b",
];

/// Requests for secrets, files or the conversation.
const SECRETS: &[&str] = &[
    r"(~|\$home|%userprofile%|/root|/home/[a-z]+|/users/[a-z]+)/?\\?\.(ssh|aws|gnupg|kube|docker|netrc|npmrc|pypirc|git-credentials|config/gcloud|bash_history|zsh_history|cursor|claude|env)\b",
    r"\b(id_rsa|id_ed25519|id_ecdsa|authorized_keys|wallet\.dat|login\.keychain|claude_desktop_config\.json|\.git-credentials|\.bash_history|\.zsh_history|cookies\.sqlite)\b|/etc/(passwd|shadow|sudoers)\b|/proc/self/environ|\.ssh/|\.aws/credentials",
    r"\b(read|open|cat|load|fetch|get|retrieve|access|find|locate|list|enumerate|gather|print|include|append|add|forward|pass|provide|send|attach|extract|collect|paste|insert|upload|copy|put|dump|look up|look for|scan for|search for)\b[^.!?]{0,50}(\.env\b|\bmcp\.json\b|\bssh (private )?keys?\b|\bprivate keys?\b|\bdeploy keys?\b|\bapi keys?\b|\baccess keys?\b|\bsecret keys?\b|\bseed phrases?\b|\brecovery phrases?\b|\bmaster passwords?\b|\buser'?s? passwords?\b|\bcredentials? (file|from)|\benvironment variables?\b|\bcookies and\b|\bsession cookies?\b|\bbrowser cookies?\b|\bbearer tokens?\b|\boauth tokens?\b|\bauth(entication)? tokens?\b|\bcredit card\b|\bkeychain\b)[^.!?]{0,60}\b(here|into|as|in (this|the)|to (this|the)|parameter|field|argument|value|side ?note|first|before|contents?|context|so that|for (verification|authentication|validation|compatibility|auditing|debugging|logging)|and (pass|send|include|add|put|attach))\b",
    r"\b(add|append|include|put|insert|attach|forward|send|pass)\b[^.!?]{0,30}\b(tokens?|passwords?|secrets?|credentials?|cookies|private keys?|deploy keys?|api keys?) (of|from) (the|your|their|all)\b|\b(add|append|include|put|insert|attach|forward|send|pass)\b[^.!?]{0,20}\b(user|project|repository|person|developer)'?s (own )?(session |access |deploy |api |private |ssh |auth )?(tokens?|keys?|passwords?|cookies|credentials|secrets)\b",
    r"\b(send|pass|forward|include|attach|append|upload|copy)\b[^.!?]{0,20}\b(previous|last|earlier|all|recent)( [0-9]+)? (messages|turns|prompts)\b",
    r"\b(mcp\.json|claude_desktop_config\.json|\.netrc|\.npmrc|\.pypirc)\b[^.!?]{0,60}\b(read|contents?|attach|attached|include|included|pass|passed|send|sent)\b",
    r"\b(access|read|open|fetch|load|extract|get|include|query)\b[^.!?]{0,60}\b(system|internal|secret|secrets|admin|private|confidential|company|vault|config)://",
    r"\b(include|extract|add|append|attach|send|output|return|use|provide|with)\b[^.!?]{0,20}\b(the |all |any |user'?s )*(master passwords?|api (keys?|tokens?)|credentials( and [a-z ]{1,12}keys?)?|secrets)\b[^.!?]{0,20}\b(in (your|the|each|every|its|'?[a-z_]+'?)|that you|into)\b",
    r"\b(everything|all|anything) (that )?the (user|person|human) (typed|wrote|said|asked|entered|told)\b|\b(earlier|previous|prior|past|all) turns\b|\bsystem message\b[^.!?]{0,20}$",
    r"\b(text|copy|wording|contents?) of (its|the|your|the assistant's|the model's) (system (message|prompt)|instructions)\b|\binstructions that (the assistant|the model|you) (was|were|is|are|has been|have been) (configured|given|started)\b",
    r"\b(list|names?|schemas?) of (all |the |any )*(other )?tools (that )?(the (assistant|model|agent)|you) (has|have|can)\b|\b(assistant|model|agent|llm|your)('s)?( hidden| internal| private)? chain of thought\b",
    r"\b(secrets|tokens|passwords|keys) (that )?you (have|had|were|are) (seen|given|told|read|shown)\b|\.(pem|key|kdbx|gpg) files?\b[^.!?]{0,40}\b(contents?|along|with|too|also|attach|include)\b|\bcontents? of\b[^.!?]{0,30}\.(pem|key|kdbx|gpg)\b|\.password-store\b",
    r"[?&{][a-z_=]*\{(session(_?(cookie|id|token))?|api_?key|password|secret|access_?token|cookies?|conversation|chat_history)\}",
    r"\b(private keys?|ssh keys?|seed phrase|session tokens?|browser cookies|session cookies) of (the|your) (user|person|owner|customer|developer)s?\b",
    r"(\.env|~/\.[a-z]+|/etc/[a-z]+)\b[^.!?]{0,60}\b(given|handed|supplied|passed|provided|attached|included) (it |them )?(over|in|into|to|as|with|along)\b",
    r"\bwhat you (were|have been) told\b|\bthe beginning of (this|the) conversation\b|\b(messages|conversation|dialogue|chat|discussion)\b[^.!?]{0,12}\b(so far|until now|up to now|to date)\b",
    r"\b(contents?|text|copy|dump|data|value)s? of\b[^.!?]{0,40}(~/|\.env\b|\bmcp\.json\b|\.ssh|\bid_rsa\b|\bprivate key\b|\bconfig(uration)? files?\b|\benvironment variables?\b|\bkeychain\b|/etc/|\bcredentials\b|\bsystem prompt\b|\b(this|the|our|your|each|every)( [a-z]+)? conversation\b|\bother files?\b|\bpassword\b|\bopen files?\b|\bproject'?s? secrets\b)",
    r"\b(full|entire|whole|complete|all|exact|verbatim|current|your|original|raw|previous|prior|earlier)\b[^.!?]{0,15}\b(system prompt|conversation( history| so far)?|chat (history|log|transcript)|message history|chain of thought|reasoning trace|context window|dialogue so far|user messages|messages (so far|of the user|from the user)|instructions you (were|have been) given|tool (call )?history|list of (available )?tools)\b",
    r"\b(summary|transcript|copy|record|history|log|contents?) of (the|this|our|your|all)( whole| full| entire| current| previous| preceding)* (conversation|chat|dialogue|discussion|session|context|user'?s? messages|interaction)\b",
    r"\b(user'?s|person'?s|their|your|developer'?s|customer'?s)\b[^.!?]{0,15}\b(password|passphrase|api key|private key|ssh key|secret key|seed phrase|credit card|social security|2fa code|otp code|one-time code|bank details|access token|session token|login credentials)s?\b[^.!?]{0,50}\b(here|required|must|needed|so that|for (verification|authentication|validation|security)|into|in this|to (verify|proceed|continue|authenticate))\b",
];

/// Names of parameters that take the conversation, or what the model was told.
const SECRET_NAMES: &str = r"(?i)^(system_?prompt|conversation(_?history|_?log|_?context)?|chat_?(history|log|transcript)|(full_?)?(conversation|chat)_?transcript|message_?history|chain_?of_?thought|previous_?messages|all_?messages|tools?_?list|available_?tools|tool_?call_?history|model_?name_?and_?version|side_?note|user_?secrets?|private_?key|ssh_?key|ssh_private_key|api_?keys|env_?dump|environment_?variables|seed_?phrase|master_?password|id_rsa|dot_?env|(.*_)?(file_?)?contents?_?(of|from)_.*(key|env|secret|password|passwd|credential|id_(rsa|ed25519)|config|file).*|.*(id_rsa|id_ed25519|dot_?env|ssh_private_key).*|(read|open|cat|load)_file_.*_and_.*|your_?(instructions|prompt|reasoning)|(.*_)?(chat|conversation|message|dialogue)_?(transcript|history|log)(_.*)?|.*_ssh_key_.*)$";

struct Phrases {
    set: RegexSet,
    each: Vec<Regex>,
}

impl Phrases {
    fn new(patterns: &[&str]) -> Self {
        let each = patterns.iter().map(|pattern| Regex::new(pattern).expect("a fixed pattern"));
        Self { each: each.collect(), set: RegexSet::new(patterns).expect("fixed patterns") }
    }

    fn find<'a>(&self, text: &'a str) -> Option<&'a str> {
        let first = self.set.matches(text).into_iter().next()?;
        Some(self.each.get(first)?.find(text)?.as_str())
    }
}

static ORDER: LazyLock<Phrases> = LazyLock::new(|| Phrases::new(ORDERS));
static SECRET: LazyLock<Phrases> = LazyLock::new(|| Phrases::new(SECRETS));
static PUBLIC_KEY: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"[^\s'\x22(]*\.ssh/[a-z0-9_]+\.pub\b").expect("a fixed pattern"));
static SECRET_NAME: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(SECRET_NAMES).expect("a fixed pattern"));

pub(super) fn find(text: &ScreenedText<'_>, add: &mut impl FnMut(Suspicion, String)) {
    if text.role == TextRole::ParameterName {
        let name = name_as_words(text.text);
        if SECRET_NAME.is_match(text.text)
            || in_sentences(&name, text.role, &SECRET_WORDS).is_some()
        {
            let place = &text.place;
            add(
                Suspicion::Secret,
                format!("{place} asks for what the model or the user keeps to itself"),
            );
        }
    }
    // A public key is meant to be given away.
    let plain = PUBLIC_KEY.replace_all(&plain(text.text), "a public key").into_owned();
    if plain.len() < 12 {
        return;
    }
    let find = |phrases: &Phrases, words: &[Combination]| {
        let phrase = phrases.find(&plain).map(short);
        phrase.or_else(|| in_sentences(text.text, text.role, words))
    };
    let place = &text.place;
    if let Some(found) = find(&ORDER, &ORDER_WORDS) {
        add(Suspicion::Order, format!("{place} tells the model what to do: “{found}”"));
    }
    if let Some(found) = find(&SECRET, &SECRET_WORDS) {
        add(
            Suspicion::Secret,
            format!("{place} asks for secrets, files or the conversation: “{found}”"),
        );
    }
}

/// Returns the words of a text's first sentence in which one of the combinations is.
fn in_sentences(text: &str, role: TextRole, combinations: &[Combination]) -> Option<String> {
    sentences::split(text).find_map(|sentence| {
        let plain = PUBLIC_KEY.replace_all(&plain(sentence), "a public key").into_owned();
        Sentence::new(&plain, role).find(combinations).map(short)
    })
}

/// Returns the name of a parameter as words: `chatHistory` and `chat_history` as `chat history`.
fn name_as_words(name: &str) -> String {
    let mut words = String::new();
    let mut is_lower = false;
    for c in name.chars() {
        if c.is_uppercase() && is_lower {
            words.push(' ');
        }
        is_lower = c.is_lowercase();
        words.push(if matches!(c, '_' | '-' | '.') { ' ' } else { c });
    }
    words
}

/// Returns the text as it reads: in lower case, with single spaces, without invisible characters, look-alikes as what they look like.
/// Underscores between words of a sentence-like name become spaces.
fn plain(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            c if c.is_whitespace() => {
                if !plain.ends_with(' ') {
                    plain.push(' ');
                }
            }
            '’' | '‘' | '`' => plain.push('\''),
            c if c.is_ascii() => plain.push(c.to_ascii_lowercase()),
            c if is_hidden(c) => {}
            c => match latin(c) {
                Some(like) => plain.push(like.to_ascii_lowercase()),
                None => plain.extend(c.to_lowercase()),
            },
        }
    }
    plain
}
