"""The words that random sentences are made of.

Plain English words of two to eleven letters, and the short ones that stand between them. Which of
them a sentence takes, and in which order, is not decided here. The order of the list is part of
what a seed means: a word put in or taken out changes every sentence.
"""

from __future__ import annotations

_SMALL = "a an the of in on at by to from with for and or but as near over under its"

_PLAIN = """
    acorn almond amber anchor ankle apple apron arch arrives arrow asks attic autumn bacon
    badge bakery bakes balcony ball bamboo banana bank barn barrel basket bath beach beam bean
    bear bed bee begins bell bench bends berry bicycle big bird biscuit blanket blue boat bone
    book boot borrows bottle bowl box branch brass bread breeze brick bridge bright brings
    broad broom brown brush bucket builder builds butter button buys cabin cable cage cake
    calls calm camel camera candle canoe canvas cap captain careful carpet carriage carries
    cart castle cat catches cave ceiling cellar chain chair chalk cheerful cheese cherry chest
    chimney church circle city clay clean clear clever cliff climbs clock closes cloth cloud
    coach coast coat coffee coin cold collar collects colour comb comfortable cooks cool
    copper corn corner cotton counts cousin covers cow crab crane cream creek crosses crow
    crown cup cupboard curious curtain cushion cuts damp dance dark dawn deck deep deer desert
    desk digs dinner dish distant doctor dog donkey door dove drawer draws dress drinks drives
    drops drum dry duck dust dusty eagle ear early earth eats egg elbow empty engine enters
    evening eye fabric face factory faint falls famous farm farmer fast feather feeds fence
    fern field finds fine finger fire fish flag flame flat flies flock floor flour flower
    flute fog folds follows forest fork fox frame fresh friend friendly frog fruit full garden
    garlic gate gathers gentle ginger gives glass glove goat gold goose grain grandmother
    grape grass gravel green grey grows guitar hair hall hammer hand handle hangs happy
    harbour hard harvest hat hawk hay hears heavy hedge helmet helps hen herb hides high hill
    holds hollow honest honey hook horn horse hospital hotel house huge hums ice ink iron
    island ivory jacket jar jewel journey jug juice jumps keeps kettle key kind king kitchen
    kite knee knife knocks knows ladder lake lamb lamp lantern large late lazy leaf learns
    leather leaves lemon letter library lid lifts light likes lily linen lion listens little
    lizard loaf lock log long looks loud low lunch machine makes map maple marble market
    meadow meets melon mends merchant metal milk mill mirror modest moon morning moss mountain
    mouse mouth moves mud museum mushroom music nail napkin narrow neat neck needle needs
    neighbour nest net new newspaper night noisy nose notebook nut oak oar oats ocean offers
    oil old olive onion opens orange orchard ordinary oven owl ox paint paints palace pale pan
    paper parcel parrot passenger passes path patient peach pear pebble pen pencil pepper
    piano picture pie pig pigeon pillow pine pipe plain plants plate plays plough plum pocket
    polite pond pony porch pot potato pours powder prince proud pulls pump puppy pushes queen
    quick quiet quilt rabbit rail rain rainbow raven reads red remembers repairs rests returns
    ribbon rice rich rides ring ripe river road robin rock rolls roof room root rope rose
    rough round rug runs saddle sail sailor sails salt sand sauce saw scarf school scissors
    sea seed sees sells sends sews shadow sharp sheep shelf shell shepherd shines ship shirt
    shoe shop shore short shoulder shovel shows silk silver simple sings sister sits sky
    sleeps sleeve slow small smiles smoke smooth snail snow soap sock soft soil soldier soup
    sour spade speaks spider spoon spring square squirrel stable stair stands star station
    stays steam steel steep stem still stone storm stove straw stream street string strong
    sugar suit summer sun swan sweater sweeps sweet swims table tail tailor takes talks tall
    tea teacher teaches tells tent theatre thick thin thread throat throws thumb thunder
    ticket tidy tiger timber tin tiny toast tool tooth touches towel tower town toy train
    travels tray tree trumpet trunk tulip turkey turns turtle umbrella uncle valley vase
    vegetable velvet vest village vinegar violin visits voice wagon waits wakes walks wall
    walnut wants warm washes watch watches water wave wax wears weaver well wet whale wheat
    wheel whistle white wide wild willow wind window wine wing winter wise wolf wood wooden
    wool works worm wrist writes yard yarn yellow young
"""

SMALL_WORDS = tuple(_SMALL.split())
WORDS = tuple(_PLAIN.split())
